"""The hot reads: a page of entries, the entries around a player, one player.

Reads that wait together are answered together: the limits of their callers and the sequence of
their boards are asked for at the same time, and what nobody has asked since the board last changed
is read in the same pipeline. Identical reads share one question, and an answer, encoded and
compressed, is used again while its board's sequence stands still.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from config.redis import get_async_redis
from leaderboard.api import answers, limits
from leaderboard.api.callers import Caller
from leaderboard.api.errors import ApiError
from leaderboard.engine import AsyncRedisLeaderboard
from leaderboard.engine.together import Question, ask_together, season, sequence
from leaderboard.engine.windows import period_at
from leaderboard.fastlane.boards import Card
from leaderboard.fastlane.errors import as_api_error

MOST_KEPT = 2_000
LARGEST_KEPT = 64 * 1024 * 1024  # bytes, all answers of a process
LONGEST_TARGET = 1024  # bytes; anyone can invent long addresses, and they must not fill the memory
FOR_EVER = 2**62


class Place(NamedTuple):
    """Where an answer stands: which board, season and window, at which sequence."""

    board: str
    season: int | None
    window: str
    sequence: int

    def head(self) -> dict[str, Any]:
        return self._asdict()


class Read(NamedTuple):
    """One read, named by its `target`, the address as it was sent.

    `ask` gives the questions to a view of the board; `build` makes the answer of their results.
    """

    target: bytes
    card: Card
    window: str
    period: str | None
    ask: Callable[[AsyncRedisLeaderboard], Sequence[Question[Any]]]
    build: Callable[[Place, Sequence[Any]], dict[str, Any]]


class Kept:
    """An encoded answer, and until when it may be given again."""

    __slots__ = ("body", "season", "sequence", "smaller", "tag", "until", "version")

    def __init__(
        self, body: bytes, version: str, season: int | None, sequence: int, until: int, tag: str
    ) -> None:
        self.body = body
        self.version = version
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

    def plan(self, target: bytes, card: Card) -> Read | None:
        """The read at this address, when it was asked for before and its board is the same."""
        read = self._plans.get(target)
        return read if read is not None and read.card is card else None

    def remember(self, read: Read) -> Read:
        if len(self._plans) >= MOST_KEPT:
            del self._plans[next(iter(self._plans))]
        self._plans[read.target] = read
        return read

    async def fly(self, seats: Sequence[tuple[Caller, Read]]) -> list[Any]:
        """For each caller how its limits stand and the answer, or the error."""
        decisions, found = await asyncio.gather(
            limits.charge_together([caller for caller, _ in seats]),
            self._answer({read.target: read for _, read in seats}),
        )
        standing = limits.Shown()
        results: list[Any] = []
        for decision, (_, read) in zip(decisions, seats, strict=True):
            result = found[read.target]
            if not decision.allowed:
                results.append(limits.refusal(decision))
            elif isinstance(result, Exception):
                results.append(result)
            else:
                results.append((standing(decision), result))
        return results

    async def _answer(self, reads: dict[bytes, Read]) -> dict[bytes, Kept | Exception]:
        client = get_async_redis()
        cards = {read.card.board.key: read.card for read in reads.values()}
        now = time.time_ns() // 1000
        kept = {target: self._usable(read, now) for target, read in reads.items()}
        # A board's season is guessed from the last time; its first read costs one more round trip.
        guesses = {
            target: read for target, read in reads.items() if not kept[target] and read.card.season
        }
        questions: list[Question[Any]] = []
        for key in cards:
            questions += [sequence(key), season(key)]
        batch = _Batch()
        for read in guesses.values():
            await batch.add(read, read.card.season)
        replies = await ask_together(client, questions + batch.questions)
        states = {
            key: (replies[2 * number], replies[2 * number + 1]) for number, key in enumerate(cards)
        }
        found = batch.results(replies[len(questions) :])

        results: dict[bytes, Kept | Exception] = {}
        again = _Batch()
        for target, read in reads.items():
            changes, number = states[read.card.board.key]
            known = kept[target]
            if known and known.sequence == changes and known.season == number:
                results[target] = known
            elif target in found and read.card.season == (number or 1):
                results[target] = self._keep(read, changes, number, found[target])
            else:
                await again.add(read, number or 1)
        if again.questions:
            found = again.results(await ask_together(client, again.questions))
        for target, read in again.reads.items():
            results[target] = self._keep(read, *states[read.card.board.key], found[target])
        return results | again.failed | batch.failed

    def _usable(self, read: Read, now: int) -> Kept | None:
        kept = self.store.get(read.target)
        if kept is None or kept.version != read.card.version or now >= kept.until:
            return None
        return kept

    def _keep(
        self, read: Read, changes: int, number: int | None, replies: Sequence[Any]
    ) -> Kept | Exception:
        for reply in replies:
            if isinstance(reply, Exception):
                return as_api_error(reply)
        board = read.card.board
        place = Place(board.slug, number, read.window, changes)
        try:
            value = read.build(place, replies)
        except ApiError as error:
            return error
        tag, until = read.card.version, FOR_EVER
        if read.window not in ("season", "all") and read.period is None:
            period = period_at(read.window, time.time_ns() // 1000, board.zone)
            tag, until = f"{tag}-{period.name}", period.end or FOR_EVER
        kept = Kept(
            answers.encode_json(value),
            read.card.version,
            number,
            changes,
            until,
            answers.etag(tag, number or 0, changes),
        )
        self.store.put(read.target, kept)
        return kept


class _Batch:
    """Reads whose questions leave together."""

    def __init__(self) -> None:
        self.reads: dict[bytes, Read] = {}
        self.questions: list[Question[Any]] = []
        self.failed: dict[bytes, Kept | Exception] = {}
        self._counts: dict[bytes, int] = {}

    async def add(self, read: Read, number: int) -> None:
        view = await read.card.engine(number)
        try:
            if read.window != "season":
                view = view.window(read.window, read.period)
            asked = read.ask(view)
        except ValueError as error:
            self.failed[read.target] = as_api_error(error)
            return
        self.reads[read.target] = read
        self.questions += asked
        self._counts[read.target] = len(asked)

    def results(self, replies: Sequence[Any]) -> dict[bytes, Sequence[Any]]:
        found, at = {}, 0
        for target, count in self._counts.items():
            found[target] = replies[at : at + count]
            at += count
        return found


# ---- what the answers look like ------------------------------------------------------------------


def entry(found: dict[str, Any]) -> dict[str, Any]:
    """An entry of the engine by the API's names."""
    result = {
        "rank": found["rank"],
        "player": found["user_id"],
        "score": found["score"],
        "details": found["metadata"],
    }
    if "subscore" in found:
        result["subscore"] = found["subscore"]
    return result


def entry_page(
    place: Place, total: int, entries: Sequence[dict[str, Any]], following: str | None = None
) -> dict[str, Any]:
    return {
        **place.head(),
        "total": total,
        "entries": [entry(one) for one in entries],
        "next": following,
    }


def player_not_found() -> ApiError:
    return ApiError(404, "unknown_player", "This player is not on the board.", field="player")
