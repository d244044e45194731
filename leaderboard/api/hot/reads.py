"""The hot reads: a page of entries, the entries around a player, one player.

Reads that wait together are answered together: those of one board by one function call, which also
returns the board's sequence, beside one charge for the limits of their callers. Identical reads
share one answer. It is kept, encoded and compressed; the function gets the sequence that it is of
and reads nothing again while that is still the board's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from config.redis.calls import Batch
from config.redis.connections import get_async_redis
from config.redis.group_commit import GroupCommit
from leaderboard.access import aliases
from leaderboard.api import answers, cursors, limits
from leaderboard.api.callers import Caller
from leaderboard.api.errors import ApiError
from leaderboard.api.hot.errors import as_api_error
from leaderboard.api.schemas import EntryPage, Head
from leaderboard.boards import current
from leaderboard.engine.board import Operations
from leaderboard.engine.pages import (
    RawEntry,
    Reply,
    Run,
    Wanted,
    pages_call,
    read_pages,
)
from leaderboard.engine.positions import last_position
from leaderboard.engine.windows import period_at
from leaderboard.models import Board

MOST_KEPT = 2_000
LARGEST_KEPT = 64 * 1024 * 1024  # bytes, all answers of a process
LONGEST_TARGET = 1024  # bytes; anyone can invent long addresses, and they must not fill the memory
FOR_EVER = 2**62
# How the details of an anonymous player look on their way through, and what is left of them.
ALIAS_MARK = f'"{aliases.ALIAS}"'.encode()
MASKED = msgspec.Raw(msgspec.json.encode(aliases.MASKED))
ROWS_PER_CALL = 1000  # a few milliseconds of the server's time
CONCURRENCY = 2  # calls: one is packed or unpacked here while Redis works on the other


class Read(NamedTuple):
    """One read, named by its `target`, the address as it was sent; `build` makes its answer."""

    target: bytes
    board: Board
    window: str
    period: str | None
    wanted: Wanted
    build: Callable[[Head, Run], msgspec.Struct]
    with_ids: bool = False  # anonymous players by their ids
    by_alias: bool = False  # the player in `wanted` was asked for by an alias


class Kept:
    """An encoded answer, and until when it may be given again."""

    __slots__ = ("board", "body", "season", "sequence", "smaller", "tag", "until")

    def __init__(
        self, body: bytes, board: Any, season: int | None, sequence: int, until: int, tag: str
    ) -> None:
        self.body = body
        self.board = board  # another object when its rules have changed
        self.season = season
        self.sequence = sequence
        self.until = until  # microseconds; a window ends without any change
        self.tag = tag.encode()  # the ETag
        self.smaller: dict[str, bytes] = {}

    def compressed(self, encoding: str) -> bytes:
        if encoding not in self.smaller:
            self.smaller[encoding] = answers.compressed(self.body, encoding)
        return self.smaller[encoding]


class Store:
    """The answers kept by this process: the newest, up to a number and a size."""

    def __init__(self, most: int = MOST_KEPT, largest: int = LARGEST_KEPT) -> None:
        self._most = most
        self._largest = largest
        self._bytes = 0
        self._kept: dict[bytes, Kept] = {}

    def get(self, target: bytes) -> Kept | None:
        return self._kept.get(target)

    def put(self, target: bytes, kept: Kept) -> None:
        if len(target) > LONGEST_TARGET:
            return
        before = self._kept.pop(target, None)
        if before is not None:
            self._bytes -= len(before.body)
        self._kept[target] = kept
        self._bytes += len(kept.body)
        while len(self._kept) > self._most or self._bytes > self._largest:
            oldest = self._kept.pop(next(iter(self._kept)))
            self._bytes -= len(oldest.body)

    def __len__(self) -> int:
        return len(self._kept)


class Reads:
    """All reads of one event loop."""

    def __init__(self) -> None:
        self.store = Store()
        self._plans: dict[bytes, Read] = {}
        self._waiting: GroupCommit[tuple[Caller, Read]] = GroupCommit(
            self._flush, concurrency=CONCURRENCY
        )

    def add(self, caller: Caller, read: Read) -> asyncio.Future[Any]:
        """The headers of the caller's limits and the answer; raises the read's error."""
        return self._waiting.add((caller, read))

    def plan(self, target: bytes, board: Board) -> Read | None:
        """The read at this address, when it was asked for before and its board is the same."""
        read = self._plans.get(target)
        return read if read is not None and read.board is board else None

    def remember(self, read: Read) -> None:
        if len(read.target) > LONGEST_TARGET:
            return
        if len(self._plans) >= MOST_KEPT:
            del self._plans[next(iter(self._plans))]
        self._plans[read.target] = read

    async def _flush(self, items: Sequence[tuple[Caller, Read]]) -> list[Any]:
        decisions, found = await asyncio.gather(
            limits.charge_together([caller for caller, _ in items]),
            self._answer({read.target: read for _, read in items}),
        )
        limit_headers = limits.LimitHeaders()
        results: list[Any] = []
        for decision, (_, read) in zip(decisions, items, strict=True):
            result = found[read.target]
            if not decision.allowed:
                results.append(limits.refusal(decision))
            elif isinstance(result, Exception):
                results.append(result)
            else:
                results.append((limit_headers(decision), result))
        return results

    async def _answer(self, reads: dict[bytes, Read]) -> dict[bytes, Kept | Exception]:
        results: dict[bytes, Kept | Exception] = {}
        now = time.time_ns() // 1000
        kept = {target: self._usable(read, now) for target, read in reads.items()}
        left: Iterable[Read] = reads.values()
        while left:  # again only when a season has ended meanwhile
            batches, calls = [], []
            for season, batch in _batches(left):
                try:
                    view = _view(batch[0], season)
                except ValueError as error:
                    results |= {read.target: as_api_error(error) for read in batch}
                    continue
                runs = [(read.wanted, _known(kept[read.target], season)) for read in batch]
                batches.append(batch)
                calls.append(pages_call(view, season, runs))
            replies = await Batch(calls).asend(get_async_redis())
            left = []
            for batch, reply in zip(batches, replies, strict=True):
                found = read_pages(reply)
                if isinstance(found.runs, bool):
                    current.note_season(batch[0].board, found.season or 1)
                    left += batch
                    continue
                for read, run in zip(batch, found.runs, strict=True):
                    if run is True:
                        results[read.target] = kept[read.target]  # type: ignore[assignment]
                    else:
                        results[read.target] = self._keep(read, found, run)
        return results

    def _usable(self, read: Read, now: int) -> Kept | None:
        kept = self.store.get(read.target)
        if kept is None or kept.board is not read.board or now >= kept.until:
            return None
        return kept

    def _keep(self, read: Read, reply: Reply, run: Run | bool) -> Kept | Exception:
        if isinstance(run, bool):
            return player_not_found()
        board, number, sequence = read.board, reply.season, reply.sequence
        value = read.build((board.slug, number, read.window, sequence), run)
        entries = run.entries or []
        if not _mask(read, entries):
            return player_not_found()
        if entries and isinstance(value, EntryPage):
            value.next = _next(board, entries[-1], run.follows)
        tag, until = board.version, FOR_EVER
        if read.window not in ("season", "all") and read.period is None:
            period = period_at(read.window, time.time_ns() // 1000, board.zone)
            tag, until = f"{tag}-{period.name}", period.end or FOR_EVER
        kept = Kept(
            answers.encode_json(value),
            board,
            number,
            sequence,
            until,
            answers.etag(tag, number or 0, sequence),
        )
        self.store.put(read.target, kept)
        return kept


def _mask(read: Read, entries: Sequence[RawEntry]) -> bool:
    """Take away what others may not know of anonymous players; False when the read itself asks for
    one by an id that the caller may not know."""
    for entry in entries:
        if ALIAS_MARK not in bytes(entry.details):
            continue
        alias = msgspec.json.decode(entry.details)[aliases.ALIAS]
        entry.details = MASKED
        if read.with_ids:
            continue
        asked_for = read.wanted.what != "page" and entry.player_id == read.wanted.start
        if asked_for and not read.by_alias:
            return False
        entry.player_id = alias
    return True


def _next(board: Board, last: RawEntry, prefix: str | bool) -> str | None:
    """The cursor behind a page, whose entries are masked already."""
    position = last_position(board.ties, last.score, last.player_id, prefix)
    return None if position is None else cursors.written(position, board.slug)


def _batches(reads: Iterable[Read]) -> list[tuple[int, list[Read]]]:
    """Reads of the same entries, in portions, each with the season seen last."""
    portions: dict[tuple[int, str, str | None], list[list[Read]]] = {}
    rows: dict[tuple[int, str, str | None], int] = {}
    for read in reads:
        same = (id(read.board), read.window, read.period)  # a model hashes slowly
        rows[same] = rows.get(same, ROWS_PER_CALL) + read.wanted.most
        if rows[same] > ROWS_PER_CALL:
            rows[same] = read.wanted.most
            portions.setdefault(same, []).append([])
        portions[same][-1].append(read)
    return [
        (current.season(portion[0].board), portion)
        for found in portions.values()
        for portion in found
    ]


def _view(read: Read, season: int) -> Operations:
    window = "" if read.window == "season" else read.window
    return current.reader(read.board, season, window, read.period)


def _known(kept: Kept | None, season: int) -> int | None:
    """The sequence of which this is the answer, if it is of this season."""
    return kept.sequence if kept is not None and (kept.season or 1) == season else None


def player_not_found() -> ApiError:
    return ApiError(404, "unknown_player", "This player is not on the board.", field="player")
