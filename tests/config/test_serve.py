"""`manage.py serve` as a newcomer runs it: real processes, an embedded server, a fresh folder."""

import fcntl
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import redis

from config.redis import embedded
from tests.servers import free_port, wait_for

ROOT = Path(__file__).resolve().parent.parent.parent

# One folder for the file: the first start has to compress the static files.
pytestmark = [pytest.mark.xdist_group("serve"), pytest.mark.timeout(240)]


class Rostrum:
    """A running copy in a folder of its own."""

    def __init__(self, var, *arguments, port=None):
        self.var = var
        self.port = port or free_port()
        clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self.environment = clean | {"VAR_DIR": str(var)}
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "serve", "--port", str(self.port), *arguments],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until_up(self):
        self.banner = []
        for line in self.process.stdout:  # what the first start waits for comes before
            if self.banner or "Rostrum is up" in line:
                self.banner.append(line)
            if "Ctrl-C" in line:
                return self
        raise AssertionError(self.process.stderr.read())

    def api_key(self):
        """A key that may submit, as somebody makes one while Rostrum runs."""
        code = (
            "from leaderboard.models import ApiKey; "
            "print(ApiKey.make('Game', ['submit'], all_boards=True)[1])"
        )
        made = subprocess.run(
            [sys.executable, "manage.py", "shell", "--no-imports", "-c", code],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return made.stdout.strip()

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def family(self):
        """Every process that runs in the folder's name: ours, granian's, the keeper, the server."""
        mark = f"VAR_DIR={self.var}".encode()
        found = set()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        found.add(int(entry.name))
                except OSError:
                    continue  # ended meanwhile, or not ours to see
        return found

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        _, errors = self.process.communicate()
        wait_for(lambda: not self.family())
        return errors


@pytest.fixture(scope="module")
def var(tmp_path_factory):
    return tmp_path_factory.mktemp("var")


@pytest.fixture
def start(var):
    started = []

    def start(*arguments, port=None):
        started.append(Rostrum(var, *arguments, port=port))
        return started[-1]

    yield start
    for rostrum in started:
        if rostrum.process.poll() is None:
            rostrum.process.kill()
            rostrum.process.communicate()


def test_it_starts_serves_and_stops_with_an_open_connection(start):
    rostrum = start().wait_until_up()
    assert f"http://127.0.0.1:{rostrum.port}" in rostrum.banner[0]
    assert "Sign in as admin" in "".join(rostrum.banner)
    status, body = rostrum.get("/readyz")
    assert (status, json.loads(body)["status"]) == (200, "ok")
    assert rostrum.get("/")[0] == 200
    key = rostrum.api_key()
    for path in ("/api/v1/boards/neon-drift/scores", "/api/v1/boards/neon-drift/entries/among"):
        assert cut_short(rostrum.port, path, key) == (400, "incomplete_body")
    stream = open_stream(rostrum.port)
    errors = rostrum.end()
    assert rostrum.process.returncode == 0, errors
    stream.close()


def cut_short(port, path, key):
    """The answer to a client that stops in the middle of its body, and still listens."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {key}\r\nContent-Length: 500\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(head.encode() + b'{"player": "ada", "sc')
        client.shutdown(socket.SHUT_WR)
        answer = http.client.HTTPResponse(client)
        answer.begin()
        return answer.status, json.loads(answer.read())["code"]


def open_stream(port):
    """A live page that is being watched."""
    stream = socket.create_connection(("127.0.0.1", port))
    stream.sendall(
        b"GET /live/boards/neon-drift/ HTTP/1.1\r\nHost: localhost\r\n"
        b"Accept: text/event-stream\r\n\r\n"
    )
    assert stream.makefile("rb").readline().startswith(b"HTTP/1.1 200")
    return stream


def test_a_kill_leaves_nothing_behind_and_the_data_is_there_again(start):
    rostrum = start("--no-worker").wait_until_up()
    before = rostrum.get("/")[1]
    rostrum.process.kill()
    rostrum.process.communicate()
    wait_for(lambda: not rostrum.family())
    again = start("--no-worker").wait_until_up()
    assert len(again.get("/")[1]) == pytest.approx(len(before), rel=0.2)
    again.end(signal.SIGTERM)


def test_a_second_copy_and_a_taken_port_get_one_clear_line(start, var):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = start(port=taken.getsockname()[1])
        _, errors = refused.process.communicate()
    assert refused.process.returncode == 1
    assert "Cannot listen on 127.0.0.1" in errors
    assert errors.count("\n") == 1
    first = start("--no-worker").wait_until_up()
    second = start("--no-worker")
    _, errors = second.process.communicate()
    assert second.process.returncode == 1
    assert errors == "CommandError: Rostrum is already running in this folder; stop it first.\n"
    first.end()


def test_it_stops_while_another_process_starts_the_embedded_server(start):
    rostrum = start("--no-worker").wait_until_up()
    # With much data that takes a minute, and whoever starts the server holds this lock meanwhile.
    with (Path(rostrum.var) / "redis" / "start.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wait_for(lambda: waits_for_a_lock(rostrum.process.pid))
        rostrum.process.send_signal(signal.SIGTERM)
        assert rostrum.process.wait(60) == 0
    wait_for(lambda: not rostrum.family())


def waits_for_a_lock(pid):
    """As the kernel lists it: `1: -> FLOCK ADVISORY WRITE 4711 …`."""
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return any(line[1] == "->" and line[5] == str(pid) for line in lines)


def test_the_embedded_server_comes_back_by_itself_with_all_data(start, tmp_path):
    rostrum = start("--no-worker").wait_until_up()
    path = str(embedded.socket_path(Path(rostrum.var) / "redis"))

    def server():
        try:
            with redis.Redis(unix_socket_path=path) as client:
                return client.info("server")["process_id"], client.get("kept")
        except redis.exceptions.RedisError:
            return 0, None

    with redis.Redis(unix_socket_path=path) as client:
        client.set("kept", "yes")
    data = [path, *Path(rostrum.var).rglob("*.sqlite3*"), *Path(rostrum.var).rglob("*.aof")]
    data += Path(rostrum.var).rglob("*.log")
    assert {Path(file).stat().st_mode & 0o077 for file in data} == {0}
    first, _ = server()
    begun = time.monotonic()
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: server()[0] not in (0, first), timeout=60)
    revived = time.monotonic() - begun
    assert server()[1] == b"yes"
    begun = time.monotonic()
    embedded.join(tmp_path)
    started = time.monotonic() - begun
    embedded.leave(tmp_path)
    # Noticed at once: it takes little more than any start, which is half a second when quiet.
    assert revived < 5 * started
    assert rostrum.get("/")[0] == 200
    rostrum.end()
