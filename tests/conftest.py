"""Each test process has a Redis of its own, emptied before every test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from tests import optional
from tests.servers import ON_CLUSTER, OWN_CACHE, OWN_POSTGRES, OWN_SERVER, wait_for

_SERVERS = [server for server in (OWN_SERVER, OWN_CACHE, OWN_POSTGRES) if server]


def pytest_sessionstart(session: pytest.Session) -> None:
    # With xdist the controller runs no test and needs no server.
    if not session.config.getoption("numprocesses", None) or "PYTEST_XDIST_WORKER" in os.environ:
        for server in _SERVERS:
            server.start()


def pytest_sessionfinish() -> None:
    for server in _SERVERS:
        server.remove()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On a cluster, what looks into one server has nothing to look at."""
    for item in items if ON_CLUSTER else ():
        if item.get_closest_marker("one_server"):
            item.add_marker(pytest.mark.skip(reason="needs a single server"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line for all tests that need what this machine lacks; pytest would name each."""
    stats = terminalreporter.stats
    skipped = [(report, str(report.longrepr[2])) for report in stats.get("skipped", [])]
    stats["skipped"] = [report for report, reason in skipped if optional.LACKS not in reason]
    left_out = [(report, reason) for report, reason in skipped if optional.LACKS in reason]
    if left_out:
        stats["left out"] = [report for report, _ in left_out]
        terminalreporter.write_line(optional.summary(reason for _, reason in left_out))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """On PostgreSQL a thread that ends with its connection takes it from the pool for good, and
    after eight of them some later test waits in vain. One may stay with asgiref's own thread."""
    if OWN_POSTGRES:
        from django.db import connection

        pool = connection.pool
        wait_for(lambda: _taken(pool.get_stats()) <= 1, timeout=5)


def _taken(stats: dict[str, int]) -> int:
    return stats["pool_size"] - stats["pool_available"]


@pytest.fixture(scope="session")
def redis_server() -> Any:
    """The server of this test process, the one that settings point at; or the cluster."""
    return OWN_SERVER


@pytest.fixture(autouse=True)
def _empty_redis() -> None:
    from config import caching, sql
    from leaderboard.boards import marks
    from ratelimit import guard
    from sessions_app import flags, ops, visits

    for server in (OWN_SERVER, OWN_CACHE):
        if server:
            with server.client() as client:
                client.flushall()
    # What a process remembers of Redis goes with it.
    flags.forget()
    sql._away_until = 0.0
    caching._away.clear()
    visits.discard()
    ops.forget()
    marks._seen.clear()
    guard.shield.clear()
    guard.breaker.succeeded()


@pytest.fixture
def redis_client() -> Iterator[redis.Redis]:
    """A plain redis-py client: bytes out."""
    with OWN_SERVER.client() as client:
        yield client
