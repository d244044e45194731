"""The servers that the engine is tested on: the embedded one, Debian's, and a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import redis
import redis.asyncio

from tests import optional
from tests.servers import ON_CLUSTER, OWN_SERVER, RedisServer, redis_cluster, redis_server


@dataclass
class Backend:
    """A server or a cluster, and clients of it."""

    name: str
    server: RedisServer

    @property
    def is_cluster(self) -> bool:
        return self.name == "cluster"

    def client(self, **options: Any) -> Any:
        if self.is_cluster:
            return redis.RedisCluster(host="127.0.0.1", port=self.server.port, **options)
        return self.server.client(**options)

    def async_client(self, **options: Any) -> Any:
        library = redis.asyncio.RedisCluster if self.is_cluster else redis.asyncio.Redis
        return library(host="127.0.0.1", port=self.server.port, **options)

    def key(self, name: str = "demo") -> str:
        """The guide's key; on a cluster with a hash tag, so that all keys share a slot."""
        return f"leaderboard:{{{name}}}" if self.is_cluster else f"leaderboard:{name}"


@pytest.fixture(scope="session")
def _started() -> Iterator[dict[str, Backend]]:
    with contextlib.ExitStack() as stack:
        yield _Servers(stack)


class _Servers(dict[str, Backend]):
    """Each server starts when the first test asks for it."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        super().__init__()
        self.stack = stack

    def __missing__(self, name: str) -> Backend:
        if name == "valkey":
            server = self.stack.enter_context(redis_server()) if ON_CLUSTER else OWN_SERVER
        elif name == "redis7":
            binary = optional.need(optional.redis_server, "redis-server")
            server = self.stack.enter_context(redis_server(binary))
        else:
            server = self.stack.enter_context(redis_cluster())[0]
        self[name] = Backend(name, server)
        return self[name]


@pytest.fixture(
    params=[
        "valkey",
        pytest.param("redis7", marks=pytest.mark.xdist_group("redis7")),
        pytest.param("cluster", marks=[pytest.mark.cluster, pytest.mark.xdist_group("cluster")]),
    ]
)
def backend(request: pytest.FixtureRequest, _started: dict[str, Backend]) -> Backend:
    """Each of the servers in turn, empty."""
    found = _started[request.param]
    with contextlib.closing(found.client()) as client:
        client.flushall()
    return found


@pytest.fixture(params=[False, True], ids=["bytes", "decoded"])
def client(request: pytest.FixtureRequest, backend: Backend) -> Iterator[Any]:
    with contextlib.closing(backend.client(decode_responses=request.param)) as found:
        yield found
