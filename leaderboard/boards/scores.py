"""Scores and details: each one function call, without SQL.

A writer tries the season seen last (`boards/current.py`); Redis refuses a wrong one and names the
right one. When a season's time is over, the first writer to notice moves the pointer, so no score
waits for the worker, and every score lands in exactly one season by the clock of Redis.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from config.redis.connections import aperform, perform
from config.sql import ask_sql
from leaderboard.access import aliases
from leaderboard.boards import current, marks
from leaderboard.engine import LeaderboardError, RowsRefusedError, SeasonMovedError, Submission
from leaderboard.errors import PlayerBannedError, SeasonClosedError, ServiceError
from leaderboard.models import Board
from leaderboard.seasons import pointer

# A pointer that moves this often under one write is being moved by a bug.
MOST_MOVES = 8
# A rebuilt board is swapped in within milliseconds; a writer waits this long for it.
PAUSE_LIMIT = 5.0
PAUSE_STEP = 0.02


class ScoreResult(msgspec.Struct, frozen=True, gc=False):
    """The result of a submission. `rank` is null for a hidden player, or one trimmed at once."""

    player_id: str = msgspec.field(name="player")
    season: int
    rank: int | None
    score: float | None
    previous_rank: int | None
    previous_score: float | None
    changed: Annotated[bool, Meta(description="False if the score on the board did not change.")]
    sequence: int
    trimmed: Annotated[Sequence[str], Meta(description="Players removed by the size limit.")]
    subscore: float | UnsetType | None = UNSET

    @property
    def replayed(self) -> bool:
        """Whether this is the result of an earlier request with the same idempotency key."""
        return False


class ReplayedResult(ScoreResult, frozen=True, gc=False):
    """A type of its own: the answer to a replay has the same fields as the first one."""

    @property
    def replayed(self) -> bool:
        return True


RowResult = ScoreResult | LeaderboardError | ServiceError


def submit_score(
    *,
    board: Board,
    player_id: str,
    score: float,
    operator: str | None = None,
    subscore: float | None = None,
    details: Mapping[str, object] | None = None,
    idempotency_key: str | None = None,
    source: str = "",
) -> ScoreResult:
    """Submit one score. `LeaderboardError` for bad values, `ServiceError` when it may not be."""
    row = Submission(player_id, score, operator, subscore, details, idempotency_key, source)
    (result,) = submit_scores(board=board, rows=[row])
    if isinstance(result, Exception):
        raise result
    return result


def submit_scores(
    *,
    board: Board,
    rows: Sequence[Submission],
    all_or_nothing: bool = False,
) -> list[RowResult]:
    """Submit many; for each row, in order, its result or its error.

    With `all_or_nothing` a single bad row raises `RowsRefusedError` and nothing is written.
    """
    batch = _Batch(board, rows, marks.current(board), all_or_nothing)
    while batch.waiting:
        engine = current.engine(board, batch.season)
        try:
            results = engine.submit_many(batch.submissions(), all_or_nothing=all_or_nothing)
        except SeasonMovedError as moved:
            batch.moved(moved)
        else:
            batch.take(results)
        match batch.need:
            case "roll":
                believed = pointer.read(board)
                if believed is not None:
                    perform(pointer.roll(board, believed))
            case "restore":
                _restore(board)
            case "wait":
                time.sleep(PAUSE_STEP)
    return batch.results


async def asubmit_scores(
    *,
    board: Board,
    rows: Sequence[Submission],
    all_or_nothing: bool = False,
) -> list[RowResult]:
    """The asynchronous twin."""
    batch = _Batch(board, rows, await marks.acurrent(board), all_or_nothing)
    while batch.waiting:
        engine = current.async_engine(board, batch.season)
        try:
            results = await engine.submit_many(batch.submissions(), all_or_nothing=all_or_nothing)
        except SeasonMovedError as moved:
            batch.moved(moved)
        else:
            batch.take(results)
        match batch.need:
            case "roll":
                believed = await pointer.aread(board)
                if believed is not None:
                    await aperform(pointer.roll(board, believed))
            case "restore":
                await ask_sql(_restore, board)
            case "wait":
                await asyncio.sleep(PAUSE_STEP)
    return batch.results


def update_details(
    *,
    board: Board,
    player_id: str,
    details: Mapping[str, object],
    source: str = "",
) -> Mapping[str, Any] | None:
    """Add to a player's details and leave the score alone; None when not on the board.

    Those of an anonymous player stay as they are.
    """
    if marks.current(board).get(player_id) == marks.ANONYMOUS:
        return board.engine().get_user_entry(player_id)
    given = aliases.from_outside(details) or {}
    try:
        return board.engine().update_details(player_id, given, source=source)
    except SeasonMovedError:
        return None  # between two seasons nobody is on the board


class _Batch:
    """Rows on their way to the board: what both twins decide between two calls."""

    def __init__(
        self,
        board: Board,
        rows: Sequence[Submission],
        marked: Mapping[str, str],
        all_or_nothing: bool,
    ) -> None:
        self.board = board
        self.season = current.season(board)
        self.results: list[Any] = [None] * len(rows)
        self.waiting: list[tuple[int, Submission]] = []
        self.need = ""
        self._moves = 0
        self._give_up = 0.0
        refused: dict[int, LeaderboardError] = {}
        for number, row in enumerate(rows):
            mark = marked.get(row.user_id) if marked else None
            if mark == marks.BANNED:
                banned = PlayerBannedError("This player is banned from the board.")
                if all_or_nothing:
                    raise banned
                self.results[number] = banned
                continue
            if mark == marks.ANONYMOUS:
                masked = aliases.anonymous_details(board, row.user_id)
                row = msgspec.structs.replace(row, metadata=masked)
            elif row.metadata:
                try:
                    given = aliases.from_outside(row.metadata)
                except LeaderboardError as error:
                    refused[number] = self.results[number] = error
                    continue
                if given is not row.metadata:
                    row = msgspec.structs.replace(row, metadata=given)
            self.waiting.append((number, row))
        if refused and all_or_nothing:
            raise RowsRefusedError(refused)

    def submissions(self) -> list[Submission]:
        return [row for _, row in self.waiting]

    def take(self, results: Sequence[Any]) -> None:
        """Keep what is final; a season that ended between two portions leaves the rest waiting."""
        self.need = ""
        left: list[tuple[int, Submission]] = []
        moved: SeasonMovedError | None = None
        for (number, row), result in zip(self.waiting, results, strict=True):
            if isinstance(result, SeasonMovedError):
                moved = result
                left.append((number, row))
            elif isinstance(result, LeaderboardError):
                self.results[number] = result
            else:
                self.results[number] = _result(result, self.season)
        self.waiting = left
        if moved is not None:
            self.moved(moved)

    def moved(self, error: SeasonMovedError) -> None:
        """Decide what must happen before the next attempt, or refuse."""
        board = self.board
        self.need = ""
        if error.number is None:
            self.need = "restore"
        elif error.state == pointer.PAUSED:
            self.season = error.number
            self._give_up = self._give_up or time.monotonic() + PAUSE_LIMIT
            if time.monotonic() > self._give_up:
                raise SeasonClosedError(f"{board.name} is being rebuilt; try again in a moment.")
            self.need = "wait"
            return
        elif error.state != pointer.OPEN:
            raise SeasonClosedError(f"{board.name} has no open season.")
        elif error.number == self.season:
            self.need = "roll"  # the right season, so its time must be over
        else:
            self.season = error.number
            current.note_season(board, error.number)
        self._moves += 1
        if self._moves > MOST_MOVES:
            raise SeasonClosedError(f"{board.name} is between two seasons; try again.")


def _restore(board: Board) -> None:
    if pointer.restore(board) is None:
        raise SeasonClosedError(f"{board.name} has no open season.")


def _result(answer: Mapping[str, Any], season: int) -> ScoreResult:
    subscore = answer.get("subscore")
    return (ReplayedResult if answer["replayed"] else ScoreResult)(
        answer["user_id"],
        season,
        answer["rank"],
        answer["score"],
        answer["previous_rank"],
        answer["previous_score"],
        answer["changed"],
        answer["sequence"],
        answer["trimmed_user_ids"],
        UNSET if subscore is None else subscore,
    )
