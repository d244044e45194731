"""Each test process has a Redis of its own, emptied before every test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import redis

from tests.servers import OWN_POSTGRES, OWN_SERVER, RedisServer


def pytest_sessionstart(session: pytest.Session) -> None:
    # With xdist the controller runs no test and needs no server.
    if not session.config.getoption("numprocesses", None) or "PYTEST_XDIST_WORKER" in os.environ:
        OWN_SERVER.start()
        if OWN_POSTGRES:
            OWN_POSTGRES.start()


def pytest_sessionfinish() -> None:
    OWN_SERVER.remove()
    if OWN_POSTGRES:
        OWN_POSTGRES.remove()


@pytest.fixture(scope="session")
def redis_server() -> RedisServer:
    """The server of this test process, the one that settings point at."""
    return OWN_SERVER


@pytest.fixture(autouse=True)
def _empty_redis() -> None:
    from ratelimit import guard
    from sessions_app import flags, ops, visits

    with OWN_SERVER.client() as client:
        client.flushall()
    # What a process remembers of Redis goes with it.
    flags.forget()
    visits.discard()
    ops.forget()
    guard.shield.clear()
    guard.breaker.succeeded()


@pytest.fixture
def redis_client() -> Iterator[redis.Redis]:
    """A plain redis-py client: bytes out."""
    with OWN_SERVER.client() as client:
        yield client
