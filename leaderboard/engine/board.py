"""The two classes that programs use; every operation stands in `writes.py` and `reads.py`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import redis
import redis.asyncio
from redis.exceptions import ResponseError

from config.redis import replication
from leaderboard import keys
from leaderboard.engine.base import Board, Operation, T, text
from leaderboard.engine.errors import LeaderboardError
from leaderboard.engine.positions import Position
from leaderboard.engine.reads import Entry, ReadOperations
from leaderboard.engine.seasons import FilledRow, SeasonOperations
from leaderboard.engine.sending import send
from leaderboard.engine.unions import UnionOperations
from leaderboard.engine.values import Details
from leaderboard.engine.writes import Result, Row, WriteOperations

SCAN_BATCH = 1000
UNION_TTL = 60


class Operations(ReadOperations, WriteOperations, SeasonOperations, UnionOperations):
    """Everything a board can do, without the sending."""


def _explained(error: ResponseError) -> Exception:
    if "WRONGTYPE" in str(error):
        return LeaderboardError(
            "A key of this board has a value of another type.", code="wrong_type", field="key"
        )
    return error


class RedisLeaderboard(Operations):
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

    def _run(self, operation: Operation[T]) -> T:
        client = self.redis
        try:
            call = next(operation)
            while True:
                if self._waits and call.writes:
                    reply = replication.call(call.function, client, call.keys, call.args)
                else:
                    reply = send(client, call.function, call.keys, call.args)
                call = operation.send(reply)
        except StopIteration as end:
            result: T = end.value
            return result
        except ResponseError as error:
            raise _explained(error) from error

    # ---- writes ---------------------------------------------------------------------------------

    def upsert_user(self, user_id: str, score: float, metadata: Details | None = None) -> Result:
        """Set a player's score, whatever the board's operator, and add to the details."""
        return self._run(self._submit_operation(user_id, score, "set", None, metadata, None, ""))

    def increment_score(
        self, user_id: str, amount: float, metadata: Details | None = None
    ) -> Result:
        """Add to a player's score, starting at 0, and to the details."""
        return self._run(self._submit_operation(user_id, amount, "sum", None, metadata, None, ""))

    def submit(
        self,
        user_id: str,
        score: float,
        *,
        operator: str | None = None,
        subscore: float | None = None,
        metadata: Details | None = None,
        idempotency_key: str | None = None,
        source: str = "",
    ) -> Result:
        """Submit a score by the board's operator, or by the one given."""
        return self._run(
            self._submit_operation(
                user_id, score, operator, subscore, metadata, idempotency_key, source
            )
        )

    def submit_many(
        self, rows: Iterable[Row], *, all_or_nothing: bool = False, details: bool = False
    ) -> list[Result | LeaderboardError]:
        """Submit many scores; for each row, in the order given, its result or its error."""
        return self._run(self._submit_many_operation(rows, all_or_nothing, details))

    def update_details(self, user_id: str, metadata: Details, *, source: str = "") -> Result | None:
        """Add to a player's details and leave the score alone; None when nobody has that id."""
        return self._run(self._details_operation(user_id, metadata, source))

    def replace_details(
        self, user_id: str, metadata: Details, *, remove: str = "*", source: str = ""
    ) -> bool:
        """Give a player these details wherever the player has entries or details, season or not.

        `remove` names one to take away; by default all that are not given. False when unknown.
        """
        return self._run(self._replace_details_operation(user_id, metadata, remove, source))

    def set_max_entries(self, max_entries: int | None, *, source: str = "") -> list[str]:
        """Change the size limit and return the ids trimmed by it, the worst first."""
        return self._run(self._limit_operation(max_entries, source))

    def delete_user(self, user_id: str, *, source: str = "") -> bool:
        """Remove a player from the board and every window, with the details."""
        return self._run(self._delete_operation(user_id, source))

    def hide(self, user_id: str, *, source: str = "") -> bool:
        """Take a player out of every read; the score is kept and goes on counting."""
        return self._run(self._hide_operation(user_id, "hide", source))

    def unhide(self, user_id: str, *, source: str = "") -> bool:
        """Show a hidden player again, with the score and the time as they were."""
        return self._run(self._hide_operation(user_id, "unhide", source))

    def clear(self, *, source: str = "") -> None:
        """Empty the board and its windows, details included."""
        return self._run(self._clear_operation(source))

    def load(self, rows: Iterable[Mapping[str, Any]]) -> int:
        """Put entries with given times on the board, as `scan` gives them; no events, no trim."""
        return self._run(self._load_operation(rows))

    def fill(self, rows: Iterable[FilledRow]) -> int:
        """As `load`, for entries that are empty so far: several times as fast, nothing checked."""
        return self._run(self._fill_operation(rows))

    def drop_season(self, number: int, *, waiting: Iterable[int] = ()) -> int:
        """Drop a portion of another season, with the details of players who stand nowhere else.

        Returns how many of its players are left: call it until that is 0. `waiting` are further
        seasons whose players keep their details.
        """
        return self._run(self._drop_season_operation(number, waiting))

    # ---- reads ----------------------------------------------------------------------------------

    def get_top(self, count: int) -> list[Entry]:
        """The best entries."""
        return self._run(self._page_operation(0, count))

    def get_page(self, offset: int, count: int) -> list[Entry]:
        """Entries after skipping `offset` from the top."""
        return self._run(self._page_operation(offset, count))

    def get_around_rank(self, rank: int, count: int) -> list[Entry]:
        """Entries around a rank, always `count` of them when the board has as many."""
        return self._run(self._around_rank_operation(rank, count))

    def get_around_user(self, user_id: str, count: int) -> list[Entry]:
        """Entries around a player; empty when the player is not on the board."""
        return self._run(self._around_user_operation(user_id, count))

    def get_score_range(
        self, low: float | None, high: float | None, *, offset: int = 0, count: int = 100
    ) -> list[Entry]:
        """Entries with a score from low to high, both included; None is without bound."""
        return self._run(self._score_range_operation(low, high, offset, count))

    def get_range_page(
        self, low: float | None, high: float | None, *, offset: int | Position = 0, count: int = 100
    ) -> dict[str, Any]:
        """As `get_score_range`, in `entries`, and how many there are in all, `size`. `next` is the
        position to go on from, as `offset`, whatever has moved meanwhile; None on the last page."""
        return self._run(self._range_page_operation(low, high, offset, count))

    def get_entries(self, user_ids: Iterable[str]) -> dict[str, Any]:
        """Given players ranked among themselves, and `missing`, the ids not on the board."""
        return self._run(self._players_operation(user_ids))

    def list_all(self) -> list[Entry]:
        """The whole board."""
        return self._run(self._all_operation())

    def scan(self, batch: int = SCAN_BATCH, *, details: bool = True) -> Iterator[Entry]:
        """The whole board in rank order, read in batches, with `at` and `counter` of ties."""
        offset = 0
        while True:
            entries = self._run(self._scan_operation(offset, batch, details))
            yield from entries
            offset += batch
            if len(entries) < batch:
                return

    def get_rank(self, user_id: str) -> int | None:
        """A player's rank, None when not on the board."""
        return self._run(self._rank_operation(user_id))

    def get_offset(self, rank: int) -> int:
        """How many entries stand before the first with this rank, at most all."""
        return self._run(self._offset_operation(rank))

    def get_user_entry(self, user_id: str) -> Entry | None:
        """A player's entry, None when not on the board."""
        return self._run(self._entry_operation(user_id))

    def get_percentile(self, user_id: str) -> float | None:
        """The share of the board, in percent, whose score this player's equals or beats."""
        return self._run(self._percentile_operation(user_id))

    def get_group(
        self, field: str, value: str, *, offset: int | Position = 0, count: int = 100
    ) -> dict[str, Any]:
        """One group ranked among themselves, as `get_range_page`; needs the rule `groups`."""
        return self._run(self._group_operation(field, value, offset, count))

    def get_distribution(self, bins: int) -> list[dict[str, Any]]:
        """How many entries lie in each of `bins` equal steps from lowest to highest score."""
        return self._run(self._distribution_operation(bins))

    def union(self, others: Sequence[Board], how: str = "sum", *, ttl: int = UNION_TTL) -> Self:
        """This board and others as one: `sum`, `best`, or the `last` that has the player.

        Stored for `ttl` seconds, to read from; on a cluster all must share a hash tag.
        """
        return self._run(self._union_operation(others, how, ttl))

    def get_user_metadata(self, user_id: str) -> dict[str, str]:
        """A player's details."""
        found = self.redis.hgetall(keys.user(self.key, self.checked_id(user_id)))
        return {text(name): text(value) for name, value in found.items()}

    def get_size(self) -> int:
        """The number of entries, hidden ones apart."""
        return int(self.redis.zcard(self.entries_key))


class AsyncRedisLeaderboard(Operations):
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

    async def _run(self, operation: Operation[T]) -> T:
        client = self.redis
        try:
            call = next(operation)
            while True:
                if self._waits and call.writes:
                    reply = await replication.acall(call.function, client, call.keys, call.args)
                else:
                    reply = await call.function.acall(client, call.keys, call.args)
                call = operation.send(reply)
        except StopIteration as end:
            result: T = end.value
            return result
        except ResponseError as error:
            raise _explained(error) from error

    # ---- writes ---------------------------------------------------------------------------------

    async def upsert_user(
        self, user_id: str, score: float, metadata: Details | None = None
    ) -> Result:
        return await self._run(
            self._submit_operation(user_id, score, "set", None, metadata, None, "")
        )

    async def increment_score(
        self, user_id: str, amount: float, metadata: Details | None = None
    ) -> Result:
        return await self._run(
            self._submit_operation(user_id, amount, "sum", None, metadata, None, "")
        )

    async def submit(
        self,
        user_id: str,
        score: float,
        *,
        operator: str | None = None,
        subscore: float | None = None,
        metadata: Details | None = None,
        idempotency_key: str | None = None,
        source: str = "",
    ) -> Result:
        return await self._run(
            self._submit_operation(
                user_id, score, operator, subscore, metadata, idempotency_key, source
            )
        )

    async def submit_many(
        self, rows: Iterable[Row], *, all_or_nothing: bool = False, details: bool = False
    ) -> list[Result | LeaderboardError]:
        return await self._run(self._submit_many_operation(rows, all_or_nothing, details))

    async def update_details(
        self, user_id: str, metadata: Details, *, source: str = ""
    ) -> Result | None:
        return await self._run(self._details_operation(user_id, metadata, source))

    async def replace_details(
        self, user_id: str, metadata: Details, *, remove: str = "*", source: str = ""
    ) -> bool:
        return await self._run(self._replace_details_operation(user_id, metadata, remove, source))

    async def set_max_entries(self, max_entries: int | None, *, source: str = "") -> list[str]:
        return await self._run(self._limit_operation(max_entries, source))

    async def delete_user(self, user_id: str, *, source: str = "") -> bool:
        return await self._run(self._delete_operation(user_id, source))

    async def hide(self, user_id: str, *, source: str = "") -> bool:
        return await self._run(self._hide_operation(user_id, "hide", source))

    async def unhide(self, user_id: str, *, source: str = "") -> bool:
        return await self._run(self._hide_operation(user_id, "unhide", source))

    async def clear(self, *, source: str = "") -> None:
        return await self._run(self._clear_operation(source))

    async def load(self, rows: Iterable[Mapping[str, Any]]) -> int:
        return await self._run(self._load_operation(rows))

    async def fill(self, rows: Iterable[FilledRow]) -> int:
        return await self._run(self._fill_operation(rows))

    async def drop_season(self, number: int, *, waiting: Iterable[int] = ()) -> int:
        return await self._run(self._drop_season_operation(number, waiting))

    # ---- reads ----------------------------------------------------------------------------------

    async def get_top(self, count: int) -> list[Entry]:
        return await self._run(self._page_operation(0, count))

    async def get_page(self, offset: int, count: int) -> list[Entry]:
        return await self._run(self._page_operation(offset, count))

    async def get_around_rank(self, rank: int, count: int) -> list[Entry]:
        return await self._run(self._around_rank_operation(rank, count))

    async def get_around_user(self, user_id: str, count: int) -> list[Entry]:
        return await self._run(self._around_user_operation(user_id, count))

    async def get_score_range(
        self, low: float | None, high: float | None, *, offset: int = 0, count: int = 100
    ) -> list[Entry]:
        return await self._run(self._score_range_operation(low, high, offset, count))

    async def get_range_page(
        self, low: float | None, high: float | None, *, offset: int | Position = 0, count: int = 100
    ) -> dict[str, Any]:
        return await self._run(self._range_page_operation(low, high, offset, count))

    async def get_entries(self, user_ids: Iterable[str]) -> dict[str, Any]:
        return await self._run(self._players_operation(user_ids))

    async def list_all(self) -> list[Entry]:
        return await self._run(self._all_operation())

    async def scan(self, batch: int = SCAN_BATCH, *, details: bool = True) -> AsyncIterator[Entry]:
        offset = 0
        while True:
            entries = await self._run(self._scan_operation(offset, batch, details))
            for entry in entries:
                yield entry
            offset += batch
            if len(entries) < batch:
                return

    async def get_rank(self, user_id: str) -> int | None:
        return await self._run(self._rank_operation(user_id))

    async def get_offset(self, rank: int) -> int:
        return await self._run(self._offset_operation(rank))

    async def get_user_entry(self, user_id: str) -> Entry | None:
        return await self._run(self._entry_operation(user_id))

    async def get_percentile(self, user_id: str) -> float | None:
        return await self._run(self._percentile_operation(user_id))

    async def get_group(
        self, field: str, value: str, *, offset: int | Position = 0, count: int = 100
    ) -> dict[str, Any]:
        return await self._run(self._group_operation(field, value, offset, count))

    async def get_distribution(self, bins: int) -> list[dict[str, Any]]:
        return await self._run(self._distribution_operation(bins))

    async def union(
        self, others: Sequence[Board], how: str = "sum", *, ttl: int = UNION_TTL
    ) -> Self:
        return await self._run(self._union_operation(others, how, ttl))

    async def get_user_metadata(self, user_id: str) -> dict[str, str]:
        found = await self.redis.hgetall(keys.user(self.key, self.checked_id(user_id)))
        return {text(name): text(value) for name, value in found.items()}

    async def get_size(self) -> int:
        return int(await self.redis.zcard(self.entries_key))
