"""The embedded server, used by real processes that end in every way a process can."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from config.redis import embedded
from tests.servers import wait_for

ROOT = Path(__file__).resolve().parent.parent.parent.parent
USER = """
import sys
from pathlib import Path
from config.redis import embedded
embedded.join(Path(sys.argv[1]))
print("joined", flush=True)
sys.stdin.read()
"""


class User:
    """A process that uses the server until its standard input ends."""

    def __init__(self, directory):
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(directory)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout.readline() == b"joined\n"

    def leave(self):
        self.process.communicate()

    def kill(self):
        self.process.kill()
        self.process.communicate()


def client(directory):
    return redis.Redis(unix_socket_path=str(embedded.socket_path(directory)))


def pid(directory):
    return client(directory).info("server")["process_id"]


def is_gone(process_id):
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return True
    return False


def test_users_share_one_server_and_the_last_one_stops_it(tmp_path):
    first, second = User(tmp_path), User(tmp_path)
    server = pid(tmp_path)
    first.leave()
    assert pid(tmp_path) == server
    second.leave()
    wait_for(lambda: is_gone(server))


def test_a_keeper_that_is_slow_to_end_is_not_taken_for_a_server(tmp_path, monkeypatch):
    slowly = "import atexit, sys, time\natexit.register(lambda: SLOW)\n".replace(
        "SLOW", "sys.argv[0].endswith('embedded.py') and time.sleep(5)"
    )
    (tmp_path / "sitecustomize.py").write_text(slowly)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    user = User(tmp_path)
    server = pid(tmp_path)
    user.kill()
    wait_for(lambda: is_gone(server), step=0.001)
    embedded.join(tmp_path)
    try:
        assert client(tmp_path).ping()
    finally:
        embedded.leave(tmp_path)


def test_nothing_is_left_after_a_kill_and_the_data_is_there_again(tmp_path):
    user = User(tmp_path)
    client(tmp_path).set("score", 42)
    server = pid(tmp_path)
    user.kill()
    wait_for(lambda: is_gone(server))
    user = User(tmp_path)
    assert client(tmp_path).get("score") == b"42"
    user.leave()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_killed_keeper_takes_the_server_along_and_the_next_user_starts_another(tmp_path):
    user = User(tmp_path)
    client(tmp_path).set("score", 42)
    server = pid(tmp_path)
    keeper = int(Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(keeper, signal.SIGKILL)
    wait_for(lambda: is_gone(server))
    other = User(tmp_path)
    assert client(tmp_path).get("score") == b"42"
    user.leave()
    other.leave()


def test_a_killed_server_is_started_again_by_the_next_user(tmp_path):
    user = User(tmp_path)
    server = pid(tmp_path)
    os.kill(server, signal.SIGKILL)
    wait_for(lambda: is_gone(server) and not embedded._keeper_alive(tmp_path))
    other = User(tmp_path)
    assert pid(tmp_path) != server
    user.leave()
    other.leave()


@pytest.mark.parametrize("kept", ["dump.rdb", "appendonlydir"])
def test_either_kind_of_persistence_brings_the_data_back(tmp_path, kept):
    user = User(tmp_path)
    client(tmp_path).set("score", 42)
    assert client(tmp_path).config_get("save")["save"] == embedded.SAVE_POINTS
    server = pid(tmp_path)
    user.leave()
    wait_for(lambda: is_gone(server))
    (tmp_path / "dump.rdb").rename(tmp_path / "away.rdb")
    (tmp_path / "appendonlydir").rename(tmp_path / "away")
    (tmp_path / ("away.rdb" if kept == "dump.rdb" else "away")).rename(tmp_path / kept)
    for _ in range(2):  # the second time from the append-only file in any case
        user = User(tmp_path)
        assert client(tmp_path).get("score") == b"42"
        wait_for(lambda: not client(tmp_path).info("persistence")["aof_rewrite_in_progress"])
        server = pid(tmp_path)
        user.leave()
        wait_for(lambda server=server: is_gone(server))


def test_many_users_at_once_start_one_server(tmp_path):
    starting = [
        subprocess.Popen(
            [sys.executable, "-c", USER, str(tmp_path)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    assert [user.stdout.readline() for user in starting] == [b"joined\n"] * 4
    server = pid(tmp_path)
    for user in starting:
        user.communicate()
    wait_for(lambda: is_gone(server))


def test_a_deep_folder_gets_a_socket_that_fits(tmp_path):
    deep = tmp_path / ("x" * 120)
    assert len(os.fsencode(embedded.socket_path(deep))) <= 100
    assert embedded.socket_path(deep) != embedded.socket_path(tmp_path / ("y" * 120))


def test_other_addresses_are_left_alone(tmp_path):
    embedded.register(tmp_path)
    embedded.join_if_ours("redis://localhost:1/0")
    assert not (tmp_path / "users.lock").exists()
