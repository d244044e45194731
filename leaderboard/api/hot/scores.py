"""Score submissions. Those to one board that wait together become one function call."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from config.redis.connections import get_async_redis
from leaderboard import keys
from leaderboard.api import limits
from leaderboard.api.callers import Caller
from leaderboard.api.errors import ApiError
from leaderboard.api.hot.boards import Card
from leaderboard.api.hot.bodies import Row, ScoreIn
from leaderboard.api.hot.errors import as_api_error, row_error
from leaderboard.api.hot.http import Headers
from leaderboard.api.idempotency import REMEMBERED_SECONDS, other_body
from leaderboard.boards.scores import ScoreResult, asubmit_scores
from leaderboard.engine import RowsRefusedError, Submission
from leaderboard.models import Board
from ratelimit.decision import Decision


class Once(NamedTuple):
    """An Idempotency-Key, and what its request was."""

    key: str
    fingerprint: str

    @classmethod
    def of(cls, caller: Caller, key: str, target: bytes, body: bytes) -> Once:
        return cls(f"{caller.name}:{key}", hashlib.sha256(target + b"\n" + body).hexdigest()[:32])


class Item(NamedTuple):
    caller: Caller
    submission: Submission
    once: Once | None


class Scores:
    """The submissions to one board in one event loop."""

    def __init__(self) -> None:
        self.card: Card | None = None  # the newest; a flush takes it as it begins

    async def flush(self, items: Sequence[Item]) -> list[Any]:
        """For each item how its limits stand and the result, or its error."""
        assert self.card is not None
        board = self.card.board
        decisions, clashes = await asyncio.gather(
            limits.charge_together([item.caller for item in items]), _note(board, items)
        )
        standing = limits.Shown()
        results: list[Any] = [None] * len(items)
        going: list[int] = []
        for number, (decision, clash) in enumerate(zip(decisions, clashes, strict=True)):
            if not decision.allowed:
                results[number] = limits.refusal(decision)
            elif clash:
                results[number] = other_body()
            else:
                going.append(number)
        if going:
            rows = [items[number].submission for number in going]
            written = await asubmit_scores(board=board, rows=rows)
            for number, result in zip(going, written, strict=True):
                if isinstance(result, Exception):
                    results[number] = as_api_error(result)
                else:
                    results[number] = (standing(decisions[number]), result)
        return results


async def _note(board: Board, items: Sequence[Item]) -> list[bool]:
    """Write down what each idempotency key was used for; True where it was something else.

    That the score counts once is the engine's doing, in the function that writes it. This only
    tells a retry from a mix-up, and may therefore happen apart from it.
    """
    noted = [(number, item.once) for number, item in enumerate(items) if item.once is not None]
    clashes = [False] * len(items)
    if not noted:
        return clashes
    pipeline = get_async_redis().pipeline(transaction=False)
    for _, once in noted:
        pipeline.set(
            keys.request(board.key, once.key),
            once.fingerprint,
            ex=REMEMBERED_SECONDS,
            nx=True,
            get=True,
        )
    replies = await pipeline.execute()
    for (number, once), before in zip(noted, replies, strict=True):
        # As bytes: behind the fingerprint of another kind of write is its packed answer.
        clashes[number] = before is not None and before != once.fingerprint.encode()
    return clashes


async def submit_rows(
    card: Card,
    caller: Caller,
    rows: Sequence[Row],
    once: Once | None,
    paid: Decision,
    *,
    all_or_nothing: bool,
) -> tuple[Headers, dict[str, Any], bool]:
    """A bulk submission: how its limits stand, the answer, and whether all of it was a replay.

    `paid` is the charge of the one call that every submission costs.
    """
    board = card.board
    decision = paid
    if (rest := limits.bulk_cost(len(rows)) - 1) > 0:
        decision = await limits.acharge(caller, rest)
        if not decision.allowed:
            raise limits.refusal(decision)
    good = [(number, row) for number, row in enumerate(rows) if isinstance(row, ScoreIn)]
    if all_or_nothing and len(good) < len(rows):
        _refuse_all({n: row for n, row in enumerate(rows) if isinstance(row, Exception)}, len(rows))
    source = caller.source
    submissions = [
        # A retry of the whole finds each row done or not done, whatever broke in between. No key
        # of a single score has a blank.
        row.submission(f"{once.key} {number}" if once else None, source)
        for number, row in good
    ]
    if once is not None:
        (clash,) = await _note(board, [Item(caller, Submission("", 0.0), once)])
        if clash:
            raise other_body()
    try:
        written = await asubmit_scores(board=board, rows=submissions, all_or_nothing=all_or_nothing)
    except RowsRefusedError as error:
        _refuse_all(error.errors, len(rows))
        raise
    results: list[Any] = [
        row_error(row, n) if isinstance(row, Exception) else None for n, row in enumerate(rows)
    ]
    accepted = replayed = 0
    for (number, _), result in zip(good, written, strict=True):
        if isinstance(result, Exception):
            results[number] = row_error(result, number)
        else:
            accepted += 1
            replayed += result.replayed
            results[number] = shown(result)
    answer = {"accepted": accepted, "refused": len(rows) - accepted, "results": results}
    return limits.Shown()(decision), answer, bool(accepted) and replayed == accepted


def _refuse_all(errors: dict[int, Any], count: int) -> None:
    raise ApiError(
        422,
        "rows_refused",
        f"{len(errors)} of {count} rows cannot be accepted; nothing was written.",
        errors=[
            row_error(error, number)["error"] for number, error in sorted(errors.items())[:100]
        ],
    )


class Accepted(msgspec.Struct, gc=False):
    """What a submission did, as the API says it."""

    player: str
    season: int
    rank: int | None
    score: float | None
    previous_rank: int | None
    previous_score: float | None
    changed: bool
    sequence: int
    trimmed: tuple[str, ...]
    subscore: float | UnsetType = UNSET


def shown(result: ScoreResult) -> Accepted:
    return Accepted(
        result.player_id,
        result.season,
        result.rank,
        result.score,
        result.previous_rank,
        result.previous_score,
        result.changed,
        result.sequence,
        result.trimmed,
        UNSET if result.subscore is None else result.subscore,
    )
