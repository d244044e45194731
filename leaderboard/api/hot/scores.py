"""Score submissions. Those to one board that wait together become one function call."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from config.redis.connections import get_async_redis
from config.redis.group_commit import GroupCommit
from leaderboard import keys
from leaderboard.api import limits
from leaderboard.api.callers import Caller
from leaderboard.api.errors import ApiError
from leaderboard.api.hot.bodies import Row, ScoreIn
from leaderboard.api.hot.errors import as_api_error, row_error
from leaderboard.api.hot.http import Headers
from leaderboard.api.idempotency import REMEMBERED_SECONDS, other_body
from leaderboard.api.schemas import Bulk
from leaderboard.boards.scores import asubmit_scores
from leaderboard.engine import RowsRefusedError, Submission
from leaderboard.models import Board
from ratelimit.decision import Decision

CONCURRENCY = 2  # calls to one board: one is packed or unpacked here while Redis works on the other


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


class Submissions:
    """The submissions to one board in one event loop."""

    _board: Board  # the newest; a call takes it as it leaves

    def __init__(self) -> None:
        self._waiting: GroupCommit[Item] = GroupCommit(self._flush, concurrency=CONCURRENCY)

    def add(self, board: Board, item: Item) -> asyncio.Future[Any]:
        """The headers of its limits and the result; raises the submission's error."""
        self._board = board
        return self._waiting.add(item)

    async def _flush(self, items: Sequence[Item]) -> list[Any]:
        board = self._board
        decisions, clashes = await asyncio.gather(
            limits.charge_together([item.caller for item in items]),
            _note(board, [item.once for item in items]),
        )
        limit_headers = limits.LimitHeaders()
        results: list[Any] = [None] * len(items)
        accepted: list[int] = []
        for number, (decision, clash) in enumerate(zip(decisions, clashes, strict=True)):
            if not decision.allowed:
                results[number] = limits.refusal(decision)
            elif clash:
                results[number] = other_body()
            else:
                accepted.append(number)
        if accepted:
            rows = [items[number].submission for number in accepted]
            written = await asubmit_scores(board=board, rows=rows)
            for number, result in zip(accepted, written, strict=True):
                if isinstance(result, Exception):
                    results[number] = as_api_error(result)
                else:
                    results[number] = (limit_headers(decisions[number]), result)
        return results


async def _note(board: Board, requests: Sequence[Once | None]) -> list[bool]:
    """Write down what each idempotency key was used for; True where it was something else.

    The function that writes a score makes it count once. This only distinguishes a retry from a
    mix-up, so it may happen apart from that.
    """
    noted = [(number, once) for number, once in enumerate(requests) if once is not None]
    clashes = [False] * len(requests)
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
    board: Board,
    caller: Caller,
    rows: Sequence[Row],
    once: Once | None,
    paid: Decision,
    *,
    all_or_nothing: bool,
) -> tuple[Headers, Bulk, bool]:
    """A bulk submission: the headers of its limits, the answer, and whether all of it was a replay.

    `paid` is the charge of the one call that every submission costs.
    """
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
    (clash,) = await _note(board, [once])
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
            results[number] = result
    answer = Bulk(accepted, len(rows) - accepted, results)
    return limits.LimitHeaders()(decision), answer, bool(accepted) and replayed == accepted


def _refuse_all(errors: dict[int, Any], count: int) -> None:
    raise ApiError(
        422,
        "rows_refused",
        f"{len(errors)} of {count} rows cannot be accepted; nothing was written.",
        errors=[row_error(error, number).error for number, error in sorted(errors.items())[:100]],
    )
