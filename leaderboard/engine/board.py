"""The two classes that programs use; most of their methods are in `writes.py` and `reads.py`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Self

import redis
import redis.asyncio

from leaderboard.engine.base import Board
from leaderboard.engine.operations import Asynchronous, Synchronous
from leaderboard.engine.reads import Entry, ReadOperations
from leaderboard.engine.seasons import SeasonOperations
from leaderboard.engine.unions import UnionOperations
from leaderboard.engine.writes import WriteOperations

SCAN_BATCH = 1000
UNION_TTL = 60


class Operations(ReadOperations, WriteOperations, SeasonOperations, UnionOperations):
    """Everything a board can do, as steps for the caller to perform."""


class RedisLeaderboard(Synchronous, Operations):
    """A leaderboard on any redis-py client, with the names and results of the redis.io guide."""

    def __init__(
        self,
        redis_client: Any = None,
        key: str = "leaderboard:demo",
        max_entries: int | None = 100,
        **rules: Any,
    ) -> None:
        client = redis_client or redis.Redis(decode_responses=True)
        super().__init__(client, key, max_entries, **rules)

    def scan(self, batch: int = SCAN_BATCH, *, details: bool = True) -> Iterator[Entry]:
        """The whole board in rank order, read in batches, with `at` and `counter` of ties."""
        offset = 0
        while True:
            entries = self._perform(self._scan(offset, batch, details))
            yield from entries
            offset += batch
            if len(entries) < batch:
                return

    def union(self, others: Sequence[Board], how: str = "sum", *, ttl: int = UNION_TTL) -> Self:
        """This board and others as one: `sum`, `best`, or the `last` that has the player.

        Stored for `ttl` seconds, to read from; on a cluster all must share a hash tag.
        """
        return self._perform(self._union(others, how, ttl))


class AsyncRedisLeaderboard(Asynchronous, Operations):
    """The same board on a `redis.asyncio` client: the same methods as coroutines."""

    def __init__(
        self,
        redis_client: Any = None,
        key: str = "leaderboard:demo",
        max_entries: int | None = 100,
        **rules: Any,
    ) -> None:
        client = redis_client or redis.asyncio.Redis(decode_responses=True)
        super().__init__(client, key, max_entries, **rules)

    async def scan(self, batch: int = SCAN_BATCH, *, details: bool = True) -> AsyncIterator[Entry]:
        """See `RedisLeaderboard.scan`."""
        offset = 0
        while True:
            entries = await self._perform(self._scan(offset, batch, details))
            for entry in entries:
                yield entry
            offset += batch
            if len(entries) < batch:
                return

    async def union(
        self, others: Sequence[Board], how: str = "sum", *, ttl: int = UNION_TTL
    ) -> Self:
        """See `RedisLeaderboard.union`."""
        return await self._perform(self._union(others, how, ttl))
