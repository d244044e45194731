"""Real servers for tests: started on free ports, stopped by their starter."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.redis.embedded import server_binary
from tests.postgresql import PostgresServer
from tests.waiting import free_port, wait_for

# Unset: the embedded server. `cluster`: three of it. Anything else: a program to run instead.
TEST_REDIS = os.environ.get("TEST_REDIS", "")


ON_CLUSTER = TEST_REDIS == "cluster"


def tested_binary() -> str:
    if ON_CLUSTER or not TEST_REDIS:
        return str(server_binary())
    program = shutil.which(TEST_REDIS)
    assert program, f"TEST_REDIS={TEST_REDIS}: no such program"
    return program


class RedisServer:
    """One server process on loopback, with a folder of its own.

    `stop()` and `start()` keep port and folder, so an append-only file is found again.
    """

    def __init__(self, binary: str | Path | None = None, **options: str) -> None:
        self.binary = str(binary or tested_binary())
        self.directory = Path(tempfile.mkdtemp(prefix="rostrum-redis-"))
        self.port = free_port()
        self.options = {"save": "", "appendonly": "no", "enable-debug-command": "yes"} | options
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self, **kwargs: Any) -> redis.Redis:
        return redis.Redis(host="127.0.0.1", port=self.port, **kwargs)

    def async_client(self, **kwargs: Any) -> redis.asyncio.Redis:
        return redis.asyncio.Redis(host="127.0.0.1", port=self.port, **kwargs)

    def client_of(self, key: str) -> redis.Redis:
        """A plain client of the server that holds the key, such as a channel's listener needs."""
        return self.client()

    def command(self) -> list[str]:
        options = self.options | {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "dir": str(self.directory),
            "logfile": str(self.directory / "redis.log"),
        }
        words = ([f"--{name}", *value.split(" ")] for name, value in options.items())
        return [self.binary, *(word for option in words for word in option)]

    def start(self) -> RedisServer:
        self.process = subprocess.Popen(
            self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(self.answers)
        return self

    def answers(self) -> bool:
        at_once = Retry(NoBackoff(), 0)  # redis-py's own ten retries take seconds
        client = self.client(socket_timeout=1, retry=at_once)
        with contextlib.suppress(redis.RedisError), client:
            return bool(client.ping())
        return False

    def stop(self, *, kill: bool = False) -> None:
        if self.process is not None:
            self.process.kill() if kill else self.process.terminate()
            self.process.wait()
            self.process = None

    def save(self) -> None:
        """Write down what is held, so that the next start finds it."""
        with self.client() as client:
            client.save()

    def forget_saved(self) -> None:
        (self.directory / "dump.rdb").unlink(missing_ok=True)

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


# Options of a cluster that replaces a dead primary within seconds.
FAILOVER = {"cluster-node-timeout": "2000"}


@contextlib.contextmanager
def redis_cluster(
    primaries: int = 3, replicas: int = 0, ports: Sequence[int] = (), **options: str
) -> Iterator[list[RedisServer]]:
    """A real cluster: all slots covered, every node agreeing, before it is handed out."""
    servers = [
        RedisServer(
            **{
                "cluster-enabled": "yes",
                # By default the port plus 10000, which may be taken.
                "cluster-port": str(free_port()),
                # A pause of a busy machine must not look like a death; a test that kills a node
                # and waits for its replica sets `FAILOVER`.
                "cluster-node-timeout": "30000",
                "repl-diskless-sync-delay": "0",
            }
            | options
        )
        for _ in range(primaries * (1 + replicas))
    ]
    for server, port in zip(servers, ports, strict=False):
        server.port = port
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
        bus = servers[0].options["cluster-port"]
        client.execute_command("CLUSTER", "MEET", "127.0.0.1", servers[0].port, bus)
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


class WholeCluster(redis.RedisCluster):
    """Where redis-py would ask any one node, tests ask all of them and add up."""

    def _each(self) -> list[redis.Redis]:
        return [self.get_redis_connection(node) for node in self.get_primaries()]

    def keys(self, pattern: str = "*") -> Any:
        return list(self.scan_iter(match=pattern))

    def dbsize(self) -> Any:
        return len(self.keys())

    def config_set(self, name: str, value: Any) -> Any:
        return [node.config_set(name, value) for node in self._each()]

    def config_resetstat(self) -> Any:
        return [node.config_resetstat() for node in self._each()]

    def slowlog_reset(self) -> Any:
        return [node.slowlog_reset() for node in self._each()]

    def time(self) -> Any:
        return self._each()[0].time()

    def client_list(self) -> Any:
        return [client for node in self._each() for client in node.client_list()]

    def info(self, section: str) -> Any:
        total: dict[str, Any] = {}
        for node in self._each():
            _add(total, node.info(section))
        return total


def _add(total: dict[str, Any], more: dict[str, Any]) -> None:
    for name, value in more.items():
        if isinstance(value, dict):
            _add(total.setdefault(name, {}), value)
        elif isinstance(value, int | float) and name in total:
            total[name] += value
        else:
            total[name] = value


class OwnCluster:
    """Three primaries in place of the one server that most tests run on.

    Stopped and started as that one is: all nodes together, with ports and folders kept.
    """

    def __init__(self, **options: str) -> None:
        self.options = options
        self._stack = contextlib.ExitStack()
        self.servers: list[RedisServer] = []

    @property
    def url(self) -> str:
        # Known before the start, because settings are read before it.
        return "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def start(self) -> OwnCluster:
        if not self.servers:
            cluster = redis_cluster(ports=self.ports, **self.options)
            self.servers = self._stack.enter_context(cluster)
            return self
        for server in self.servers:
            if server.process is None:
                server.start()
        wait_for(self.answers)
        return self

    def answers(self) -> bool:
        """Whether every node is up and agrees that no slot is missing."""
        if not all(server.answers() for server in self.servers):
            return False
        with contextlib.ExitStack() as stack:
            clients = [
                stack.enter_context(server.client(decode_responses=True)) for server in self.servers
            ]
            return all(_is_complete(client) for client in clients)

    def stop(self, *, kill: bool = False) -> None:
        for server in self.servers:
            server.stop(kill=kill)

    def save(self) -> None:
        for server in self.servers:
            server.save()

    def forget_saved(self) -> None:
        for server in self.servers:
            server.forget_saved()

    def client(self, **kwargs: Any) -> WholeCluster:
        return WholeCluster(host="127.0.0.1", port=self.ports[0], **kwargs)

    def async_client(self, **kwargs: Any) -> redis.asyncio.RedisCluster:
        return redis.asyncio.RedisCluster(host="127.0.0.1", port=self.ports[0], **kwargs)

    def client_of(self, key: str) -> redis.Redis:
        with self.client() as cluster:
            node = cluster.get_node_from_key(key)
        return redis.Redis(host="127.0.0.1", port=node.port)

    def remove(self) -> None:
        self._stack.close()

    @cached_property
    def ports(self) -> list[int]:
        return [free_port() for _ in range(3)]


# The ones that settings point at; `tests/conftest.py` starts and removes them.
OWN_SERVER: Any = OwnCluster() if ON_CLUSTER else RedisServer()


# A cluster has one database, and the cache must not share it with the data.
OWN_CACHE = RedisServer() if ON_CLUSTER else None


OWN_POSTGRES = PostgresServer() if os.environ.get("TEST_DATABASE") == "postgresql" else None


def new_database(folder: Path) -> str:
    """The address of an empty database of the tested kind, for a process of its own."""
    return OWN_POSTGRES.new_database() if OWN_POSTGRES else f"sqlite:///{folder}/db.sqlite3"
