"""The embedded server trusts and ends no process but its own."""

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from config.errors import ConfigurationError
from config.redis import embedded
from config.redis.peers import Process, peer_at
from tests.config.redis.test_embedded import USER, User, client, is_gone, pid
from tests.servers import wait_for

ROOT = Path(__file__).resolve().parent.parent.parent.parent
NOBODY = 65534
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can play another user")

# Answers every command politely, and says that its process is another one.
IMPOSTOR = """
import os, re, socketserver, sys

class Answers(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            info = f"process_id:{sys.argv[2]}\\r\\nredis_version:7.2.4".encode()
            for command in re.findall(rb"\\*\\d+\\r\\n\\$\\d+\\r\\n(\\w+)", data):
                if command.upper() == b"INFO":
                    self.request.sendall(b"$%d\\r\\n%s\\r\\n" % (len(info), info))
                elif command.upper() == b"HELLO":
                    self.request.sendall(b"%1\\r\\n+proto\\r\\n:3\\r\\n")
                else:
                    self.request.sendall(b"+OK\\r\\n")

class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

os.setuid(int(sys.argv[3]))
server = Server(sys.argv[1], Answers)
print("listening", flush=True)
server.serve_forever()
"""


def impostor(path, claimed_pid, user_id=None):
    user_id = os.getuid() if user_id is None else user_id
    process = subprocess.Popen(
        [sys.executable, "-c", IMPOSTOR, str(path), str(claimed_pid), str(user_id)],
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"listening\n"
    return process


def end(process):
    process.kill()
    process.communicate()


@pytest.fixture
def bystander():
    process = subprocess.Popen(["sleep", "600"])
    yield process
    end(process)


@pytest.fixture
def deep(tmp_path):
    return tmp_path / ("x" * 120)


def test_the_socket_of_a_deep_folder_is_in_a_folder_that_is_ours_alone(deep):
    before = os.umask(0o022)
    try:
        folder = embedded.socket_path(deep).parent
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.lstat().st_mode) == 0o700
    assert folder.lstat().st_uid == os.getuid()
    assert embedded.socket_path(deep).parent == folder
    # Nobody can know its name before it exists.
    other = embedded.socket_path(deep.parent / ("y" * 120)).parent
    assert other != folder


def test_a_deep_folder_works(deep):
    first, second = User(deep), User(deep)
    server = pid(deep)
    client(deep).set("score", 42)
    first.leave()
    assert pid(deep) == server
    second.leave()
    wait_for(lambda: is_gone(server))
    again = User(deep)
    assert client(deep).get("score") == b"42"
    again.leave()


@pytest.mark.parametrize("change", ["open", "link", "foreign", "gone"])
def test_a_folder_that_is_not_private_any_more_is_left(deep, tmp_path, change):
    folder = embedded.socket_path(deep).parent
    if change == "open":
        folder.chmod(0o755)
    elif change == "foreign":
        if os.getuid() != 0:
            pytest.skip("only root can play another user")
        os.chown(folder, NOBODY, NOBODY)
    else:
        folder.rmdir()
    if change == "link":
        trap = tmp_path / "trap"
        trap.mkdir(mode=0o700)
        folder.symlink_to(trap)
    another = embedded.socket_path(deep).parent
    assert another != folder
    assert stat.S_IMODE(another.lstat().st_mode) == 0o700


@pytest.fixture
def open_folder():
    """Open to all, as a mistake may leave it."""
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        folder.chmod(0o777)
        yield folder


@as_root
def test_a_server_of_another_user_is_neither_adopted_nor_signalled(open_folder):
    path = embedded.socket_path(open_folder)
    foreign = impostor(path, os.getpid(), NOBODY)
    try:
        assert peer_at(path).user_id == NOBODY
        with pytest.raises(ConfigurationError, match="server of another user answers"):
            embedded.join(open_folder)
        assert foreign.poll() is None
    finally:
        end(foreign)


@as_root
def test_one_that_takes_the_place_of_our_server_gets_no_data(open_folder):
    user = User(open_folder)
    path = embedded.socket_path(open_folder)
    server = pid(open_folder)
    path.rename(open_folder / "away")
    foreign = impostor(path, server, NOBODY)
    try:
        late = subprocess.run(
            [sys.executable, "-c", USER, str(open_folder)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert "server of another user answers" in late.stderr
    finally:
        end(foreign)
        user.leave()
    wait_for(lambda: is_gone(server))


def test_what_a_server_says_of_its_process_is_not_believed(tmp_path, bystander):
    fake = impostor(embedded.socket_path(tmp_path), bystander.pid)
    try:
        assert peer_at(embedded.socket_path(tmp_path)).pid == fake.pid
        user = User(tmp_path)
        user.leave()
        assert fake.wait(30) != 0  # our own user's: adopted, and ended with its last user
        assert bystander.poll() is None
    finally:
        end(fake)


def test_a_number_that_belongs_to_nobody_any_more_is_not_signalled(bystander):
    process = Process(bystander.pid)
    assert process.is_alive()
    end(bystander)
    assert not process.is_alive()
    process.send(9)


def test_nobody_answers_at_a_socket_that_is_not_there(tmp_path):
    assert peer_at(tmp_path / "redis.sock") is None
