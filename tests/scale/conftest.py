"""A cluster that several tests share; each test uses names of its own."""

from collections.abc import Iterator

import pytest

from tests.servers import RedisServer, redis_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[list[RedisServer]]:
    """Three primaries, then the replica of each."""
    with redis_cluster(primaries=3, replicas=1) as servers:
        yield servers
