"""Topologies that several tests share; each test uses boards of its own names."""

from collections.abc import Iterator

import pytest

from tests.servers import RedisServer, redis_cluster
from tests.topologies import Replicated, replicated


@pytest.fixture(scope="session")
def cluster() -> Iterator[list[RedisServer]]:
    """Three primaries, each with a replica."""
    with redis_cluster(primaries=3, replicas=1) as servers:
        yield servers


@pytest.fixture
def sentinels() -> Iterator[Replicated]:
    """A primary, two replicas, three sentinels; fresh, because tests kill the primary."""
    with replicated() as topology:
        yield topology
