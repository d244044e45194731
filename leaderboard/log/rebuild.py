"""Rebuild a live board from the score log.

The log in SQL is played again (`build.py`) and loaded into fresh keys beside the live ones, while
scores continue. Then the board is paused to add the few scores that came meanwhile, and one
function call replaces the live keys by the fresh ones. A score that is submitted at that moment
waits for it.

A process can be killed at any point: before the first fresh key is written, the pointer gets the
note `remake`, which the swap deletes. If the clock finds the note, it rebuilds the board by the
rules in SQL.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db.models import Max

from config.redis.connections import get_redis, perform
from leaderboard import keys
from leaderboard.engine.windows import ALL_TIME
from leaderboard.errors import ServiceError
from leaderboard.log import consumer
from leaderboard.log.build import Build, Progress, StructuralChangeError
from leaderboard.log.differences import Difference, Report, refuse_loss, report
from leaderboard.models import Board, ScoreEvent
from leaderboard.seasons import pointer as pointers
from leaderboard.seasons.pointer import CLOSED, OPEN, PAUSED, Pointer

logger = logging.getLogger("rostrum.rebuild")

ATTEMPTS = 3
DRAIN_LIMIT = 60.0  # seconds for the log to catch up before the rebuild begins
PAUSED_DRAIN_LIMIT = 4.0  # the same while scores wait
# Rules that decide the bytes of a sorted set.
LAYOUT = ("order", "ties", "ranking", "subscore_order")


def check_board(board: Board, *, progress: Progress | None = None) -> Report:
    """Compare the live season and its windows with the log, without changing anything."""
    return _check(board, _pointer(board), progress)


def _check(board: Board, pointer: Pointer, progress: Progress | None = None) -> Report:
    for _ in range(ATTEMPTS):
        build = Build(board, pointer, drain(board, DRAIN_LIMIT))
        build.replay(progress)
        try:
            return _report(build, _compare(build))
        except StructuralChangeError:
            continue
    raise _too_busy(board)


def _compare(build: Build) -> list[Difference]:
    """Compare twice: scores that come during the first comparison look like differences."""
    differences = build.compare()
    if differences:
        drain(build.board, DRAIN_LIMIT)
        if build.missed():
            raise StructuralChangeError
        build.replay()
        differences = build.compare(only=differences)
    return differences


def rebuild_board(
    board: Board, *, progress: Progress | None = None, allow_loss: bool = False
) -> Report:
    """Rebuild the board and swap it in. Call it under the board's season lock.

    Raise `WouldLoseError` if the live board has entries that the log does not have, unless
    `allow_loss`. The remains of a rebuild that died are not compared.
    """
    pointer = _pointer(board)
    unfinished = pointers.look(board).remake
    for _ in range(ATTEMPTS):
        build = Build(board, pointer)
        try:
            build.complete_to = drain(board, DRAIN_LIMIT)
            build.replay(progress)
            differences = [] if unfinished else _compare(build)
            if not allow_loss:
                refuse_loss(board, _report(build, differences))
            pointers.note(board, pointers.REMAKE)
            build.load_all()
            _pause(board, pointer)
            drain(board, PAUSED_DRAIN_LIMIT)
            build.catch_up()
            _finish(build)
        except StructuralChangeError:
            continue
        finally:
            build.clean()
            if not unfinished:
                _resume(board)
        extra = {"board": board.slug, "entries": len(build.season.entries)}
        logger.info("Board rebuilt", extra=extra)
        return _report(build, differences, swapped=True)
    raise _too_busy(board)


def is_lost(board: Board, number: int) -> bool:
    """Whether a season has scores in the log but none in Redis."""
    entries = keys.season_entries(board.key, number)
    if get_redis().exists(entries, keys.hidden_entries(entries)):
        return False
    events = ScoreEvent.objects.filter(board=board, season=number)
    emptied = events.filter(op="reset").aggregate(Max("sequence"))["sequence__max"] or 0
    return events.filter(op="score", sequence__gt=emptied).exists()


def request_rebuild(board: Board, pointer: Pointer) -> None:
    """Pause the board until a worker has rebuilt it. Call it under the board's season lock."""
    _pause(board, pointer)
    pointers.note(board, pointers.REMAKE)


def finish_rebuild(board: Board) -> None:
    """Finish a rebuild that died, or restore a board that Redis has lost. Call it under the board's
    season lock. Without the note `remake` the live keys are complete."""
    found = pointers.look(board)
    pointer = found.pointer
    if pointer is None or not found.remake or (pointer.state == CLOSED and not board.windows):
        _resume(board)
    else:
        rebuild_board(board)


def change_rules(
    board: Board, pointer: Pointer, *, before: Board, save: Callable[[], None]
) -> None:
    """Save the new rules of `board` with `save`, and rebuild its keys by them. Call it under the
    board's season lock. `before` is the board as it is in SQL.

    The board is paused from the start, because scores by the old rules do not fit the new keys.
    Live keys of another layout are deleted before the new rules are saved: no key is ever read by
    rules that it does not follow. If this process dies, the clock rebuilds the board.
    """
    unfinished = pointers.look(board).remake
    if not unfinished:
        before.windows = [name for name in before.windows if name in board.windows]
        refuse_loss(board, _check(before, pointer))
    touched = False
    try:
        _pause(board, pointer)
        pointers.note(board, pointers.REMAKE)
        build = _played(board, pointer)
        touched = True
        if any(getattr(before, name) != getattr(board, name) for name in LAYOUT):
            build.drop_live()
        save()
        _finish(build)
    finally:
        if not touched and not unfinished:
            _resume(board)


def _played(board: Board, pointer: Pointer) -> Build:
    """Fresh keys of the paused board by its new rules."""
    for _ in range(ATTEMPTS):
        build = Build(board, pointer, drain(board, DRAIN_LIMIT))
        try:
            build.replay()
            build.load_all()
            build.catch_up()
        except StructuralChangeError:
            continue
        except BaseException:
            build.clean()
            raise
        return build
    raise _too_busy(board)


def _too_busy(board: Board) -> ServiceError:
    return ServiceError(
        f"{board.name} changes too fast to be rebuilt; try again when it is quieter."
    )


def _finish(build: Build) -> None:
    """Swap. Windows that the board no longer has expire, except the one for all time."""
    board = build.board
    if ALL_TIME not in board.windows:
        entries = keys.window_entries(board.key, ALL_TIME, ALL_TIME)
        get_redis().unlink(*keys.entries_keys(entries, Board.Group.values))
    if not build.swap():
        raise ServiceError(f"The season of {board.name} moved during the rebuild; run it again.")


@contextmanager
def settled(board: Board) -> Iterator[None]:
    """Pause the board and store all its events, so that no worker restores what is deleted from
    SQL inside the block. Call it under the board's season lock."""
    found = pointers.look(board)
    try:
        if found.pointer is not None and found.pointer.is_open:
            _pause(board, found.pointer)
        drain(board, DRAIN_LIMIT)
    except BaseException:
        if not found.remake:
            _resume(board)
        raise
    # If this fails from now on, the board must be rebuilt from what is left of its log.
    pointers.note(board, pointers.REMAKE)
    yield
    _resume(board)


def drain(board: Board, limit: float) -> int:
    """Wait until every event of the board is in SQL, and store those that no worker stores.

    Later events are not waited for, or a busy board would never finish. Return the sequence up to
    which the log is complete; beyond it a later event may be stored before an earlier one.
    """
    complete_to = int(get_redis().get(keys.sequence(board.key)) or 0)
    last = consumer.last_id(board)
    reader = consumer.Consumer()
    deadline = time.monotonic() + limit
    while True:
        reader.drain(board, last)
        if consumer.is_stored(board, last):
            return complete_to
        if time.monotonic() > deadline:
            raise ServiceError(
                f"The score log of {board.name} is not stored yet; is the database busy?"
            )
        time.sleep(0.02)


def _resume(board: Board) -> None:
    """Let scores continue: the live keys are complete and no rebuild is needed."""
    pointers.forget_note(board, pointers.REMAKE)
    pointer = pointers.read(board)
    if pointer is not None and pointer.state == PAUSED:
        _set_state(board, pointer, OPEN)


def _pause(board: Board, pointer: Pointer) -> None:
    """Let scores wait; between two seasons there are none. Raise `ServiceError` if the season has
    moved since the caller read the pointer."""
    now = pointers.read(board)
    if now is not None and now.number == pointer.number:
        if (now.state, pointer.state) == (PAUSED, OPEN):
            return
        if now.state == pointer.state and (now.state != OPEN or _set_state(board, pointer, PAUSED)):
            return
    raise ServiceError(f"The season of {board.name} has just ended; try again.")


def _set_state(board: Board, pointer: Pointer, state: str) -> bool:
    move = pointers.move(
        board,
        believed=pointer,
        mode="keep",
        number=pointer.number,
        state=state,
        opens=pointer.opens,
        closes=pointer.closes,
    )
    moved, _ = perform(move)
    return moved


def _pointer(board: Board) -> Pointer:
    pointer = pointers.current(board)
    if pointer is None:
        raise ServiceError(f"{board.name} has no season yet.")
    if pointer.state == CLOSED and not board.windows:
        raise ServiceError(
            f"{board.name} has no open season and no windows; past seasons are in SQL already. "
            "To archive one of them again, give its number."
        )
    return pointer


def _report(build: Build, differences: list[Difference], *, swapped: bool = False) -> Report:
    return report(
        build.board,
        entries=len(build.season.entries),
        swapped=swapped,
        differences=differences,
        views=[(view.name, view.since) for view in build.views()],
    )
