"""Real servers for tests: started on free ports, stopped by their starter."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import redis

from config.embedded import server_binary


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition: Callable[[], Any], timeout: float = 20.0, step: float = 0.01) -> Any:
    """Poll until `condition` is true; the only waiting that tests do."""
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"Not true within {timeout} s: {condition}")
        time.sleep(step)


class RedisServer:
    """One server process on loopback, with a folder of its own.

    `stop()` and `start()` keep port and folder, so an append-only file is found again.
    """

    def __init__(self, binary: str | Path | None = None, **options: str) -> None:
        self.binary = str(binary or server_binary())
        self.directory = Path(tempfile.mkdtemp(prefix="rostrum-redis-"))
        self.port = free_port()
        self.options = {"save": "", "appendonly": "no", "enable-debug-command": "yes"} | options
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self, **kwargs: Any) -> redis.Redis:
        return redis.Redis(host="127.0.0.1", port=self.port, **kwargs)

    def start(self) -> RedisServer:
        options = self.options | {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "dir": str(self.directory),
            "logfile": str(self.directory / "redis.log"),
        }
        arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
        self.process = subprocess.Popen(
            [self.binary, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(self.answers)
        return self

    def answers(self) -> bool:
        with contextlib.suppress(redis.RedisError), self.client(socket_timeout=1) as client:
            return bool(client.ping())
        return False

    def stop(self, *, kill: bool = False) -> None:
        if self.process is not None:
            self.process.kill() if kill else self.process.terminate()
            self.process.wait()
            self.process = None

    def remove(self) -> None:
        self.stop(kill=True)
        shutil.rmtree(self.directory, ignore_errors=True)


@contextlib.contextmanager
def redis_server(binary: str | Path | None = None, **options: str) -> Iterator[RedisServer]:
    server = RedisServer(binary, **options)
    try:
        yield server.start()
    finally:
        server.remove()


@contextlib.contextmanager
def redis_cluster(primaries: int = 3, replicas: int = 0) -> Iterator[list[RedisServer]]:
    """A real cluster: all slots covered, every node agreeing, before it is handed out."""
    servers = [
        RedisServer(**{"cluster-enabled": "yes", "cluster-node-timeout": "2000"})
        for _ in range(primaries * (1 + replicas))
    ]
    try:
        for server in servers:
            server.start()
        _join_cluster(servers, primaries)
        yield servers
    finally:
        for server in servers:
            server.remove()


def _join_cluster(servers: list[RedisServer], primaries: int) -> None:
    clients = [server.client(decode_responses=True) for server in servers]
    step = 16384 // primaries
    for number, client in enumerate(clients[:primaries]):
        last = 16383 if number == primaries - 1 else (number + 1) * step - 1
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", number * step, last)
        client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
    for client in clients[1:]:
        client.execute_command("CLUSTER", "MEET", "127.0.0.1", servers[0].port)
    wait_for(lambda: all(_known_nodes(client) == len(servers) for client in clients))
    for number, client in enumerate(clients[primaries:]):
        primary = clients[number % primaries].execute_command("CLUSTER", "MYID")
        wait_for(lambda client=client, primary=primary: _replicates(client, primary))
    wait_for(lambda: all(_is_complete(client) for client in clients))
    for client in clients:
        client.close()


def _known_nodes(client: redis.Redis) -> int:
    return int(client.execute_command("CLUSTER INFO")["cluster_known_nodes"])


def _is_complete(client: redis.Redis) -> bool:
    return bool(client.execute_command("CLUSTER INFO")["cluster_state"] == "ok")


def _replicates(client: redis.Redis, primary: str) -> bool:
    with contextlib.suppress(redis.ResponseError):
        client.execute_command("CLUSTER", "REPLICATE", primary)
        return True
    return False


# The one that settings point at; `tests/conftest.py` starts and removes it.
OWN_SERVER = RedisServer()
