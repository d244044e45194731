"""A live board made again from the score log.

The log in SQL is played again (`build.py`) and loaded into fresh keys beside the live ones, while
scores go on. Then the board is paused for the few scores that came meanwhile, and the fresh keys
take the place of the live ones in one function call. Whoever submits in that moment waits for it.

Whatever is killed when: before the first fresh key is written the pointer gets the note `remake`,
which goes with the swap. Where the clock finds it, it makes the board again by the rules that SQL
has.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db.models import Max

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.engine.windows import ALL_TIME
from leaderboard.errors import ServiceError
from leaderboard.log import consumer
from leaderboard.log.build import Build, Progress, StructuralChangeError
from leaderboard.log.differences import Difference, Report, need_no_loss, report
from leaderboard.models import Board, ScoreEvent
from leaderboard.seasons import pointer
from leaderboard.seasons.pointer import CLOSED, OPEN, PAUSED, Pointer

logger = logging.getLogger("rostrum.rebuild")

ATTEMPTS = 3
DRAIN_LIMIT = 60.0  # seconds for the log to catch up before the rebuild begins
PAUSED_DRAIN_LIMIT = 4.0  # and while everybody waits
# Rules by which the bytes of a sorted set are laid out.
LAYOUT = ("order", "ties", "ranking", "subscore_order")


def check_board(board: Board, *, progress: Progress | None = None) -> Report:
    """Compare the live season and its windows with the log; nothing is changed."""
    return _check(board, _pointer(board), progress)


def _check(board: Board, at: Pointer, progress: Progress | None = None) -> Report:
    for _ in range(ATTEMPTS):
        build = Build(board, at, drain(board, DRAIN_LIMIT))
        build.replay(progress)
        try:
            return _report(build, _compare(build))
        except StructuralChangeError:
            continue
    raise _too_busy(board)


def _compare(build: Build) -> list[Difference]:
    """Scores that come during the comparison look like differences; those that stay are."""
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
    """Make the board again and swap it in; call under the board's season lock.

    `WouldLoseError` when the live board has entries that the log does not have, unless
    `allow_loss`. What a rebuild that died has left is not compared: it is no board.
    """
    at = _pointer(board)
    fresh = pointer.look(board).remake
    for _ in range(ATTEMPTS):
        build = Build(board, at)
        try:
            build.whole = drain(board, DRAIN_LIMIT)
            build.replay(progress)
            differences = [] if fresh else _compare(build)
            if not allow_loss:
                need_no_loss(board, _report(build, differences))
            pointer.note(board, pointer.REMAKE)
            build.load_all()
            _pause(board, at)
            drain(board, PAUSED_DRAIN_LIMIT)
            build.catch_up()
            _finish(build)
        except StructuralChangeError:
            continue
        finally:
            build.clean()
            if not fresh:
                _resume(board)
        logger.info(
            "Board rebuilt",
            extra={"board": board.slug, "entries": len(build.season.entries)},
        )
        return _report(build, differences, swapped=True)
    raise _too_busy(board)


def is_lost(board: Board, number: int) -> bool:
    """Whether a season has scores in the log and none in Redis."""
    entries = keys.season_entries(board.key, number)
    if get_redis().exists(entries, keys.aside(entries)):
        return False
    events = ScoreEvent.objects.filter(board=board, season=number)
    emptied = events.filter(op="reset").aggregate(Max("sequence"))["sequence__max"] or 0
    return events.filter(op="score", sequence__gt=emptied).exists()


def ask_for(board: Board, at: Pointer) -> None:
    """Let scores wait until somebody has made the board again; call under its season lock."""
    _pause(board, at)
    pointer.note(board, pointer.REMAKE)


def bring_back(board: Board) -> None:
    """Finish what somebody has left who died, or whatever Redis has lost; call under the board's
    season lock. Without the note `remake` the live keys are whole."""
    found = pointer.look(board)
    if found.at is None or not found.remake or (found.at.state == CLOSED and not board.windows):
        _resume(board)
    else:
        rebuild_board(board)


def change_rules(board: Board, at: Pointer, *, before: Board, save: Callable[[], None]) -> None:
    """Save the new rules that `board` carries, and make the keys that follow them; call under the
    board's season lock. `before` is the board as it is in SQL.

    The board is paused from the start, because scores by the old rules do not fit the new keys.
    Live keys of another layout are gone before the new rules are saved: no key is ever read by
    rules that it does not follow. Whoever dies leaves a board that the clock makes again.
    """
    fresh = pointer.look(board).remake
    if not fresh:
        before.windows = [name for name in before.windows if name in board.windows]
        need_no_loss(board, _check(before, at))
    touched = False
    try:
        _pause(board, at)
        pointer.note(board, pointer.REMAKE)
        build = _played(board, at)
        touched = True
        if any(getattr(before, name) != getattr(board, name) for name in LAYOUT):
            build.drop_live()
        save()
        _finish(build)
    finally:
        if not touched and not fresh:
            _resume(board)


def _played(board: Board, at: Pointer) -> Build:
    """The paused board by its new rules, in fresh keys."""
    for _ in range(ATTEMPTS):
        build = Build(board, at, drain(board, DRAIN_LIMIT))
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
    return ServiceError(f"{board.name} changes too much right now; try again in a quiet minute.")


def _finish(build: Build) -> None:
    """Windows that are kept no longer expire by themselves, except the one for all time."""
    board = build.board
    if ALL_TIME not in board.windows:
        entries = keys.window_entries(board.key, ALL_TIME, ALL_TIME)
        get_redis().unlink(*keys.entries_keys(entries, Board.Group.values))
    if not build.swap():
        raise ServiceError(f"The season of {board.name} moved during the rebuild; run it again.")


@contextmanager
def settled(board: Board) -> Iterator[None]:
    """Scores wait, and every event is in SQL: what is deleted there now does not come back from
    the hands of a worker. Call under the board's season lock."""
    at = pointer.read(board)
    fresh = pointer.look(board).remake
    try:
        if at is not None and at.is_open:
            _pause(board, at)
        drain(board, DRAIN_LIMIT)
    except BaseException:
        if not fresh:
            _resume(board)
        raise
    # Whoever fails from now on leaves a board that has to follow what is left of its log.
    pointer.note(board, pointer.REMAKE)
    yield
    _resume(board)


def drain(board: Board, limit: float) -> int:
    """Wait until every event that the board has had is in SQL, and store what nobody else does.

    What comes meanwhile does not count, or a busy board would never be done. Returns the sequence
    up to which the log is whole; beyond it a later event may be stored before an earlier one.
    """
    whole = int(get_redis().get(keys.sequence(board.key)) or 0)
    last = consumer.last_id(board)
    reader = consumer.Consumer()
    deadline = time.monotonic() + limit
    while True:
        reader.drain(board, last)
        if consumer.is_stored(board, last):
            return whole
        if time.monotonic() > deadline:
            raise ServiceError(
                f"The score log of {board.name} is not stored yet; is the database busy?"
            )
        time.sleep(0.02)


def _resume(board: Board) -> None:
    """The live keys are as they should be: nothing is to be finished, and scores go on."""
    pointer.forget_note(board, pointer.REMAKE)
    at = pointer.read(board)
    if at is not None and at.state == PAUSED:
        _set_state(board, at, OPEN)


def _pause(board: Board, at: Pointer) -> None:
    """Let scores wait; between two seasons there are none. `ServiceError` when the season is not
    where the caller believes."""
    now = pointer.read(board)
    if now is not None and (now.number, now.state) == (at.number, at.state):
        if at.state != OPEN or _set_state(board, at, PAUSED):
            return
    elif now is not None and (now.number, now.state, at.state) == (at.number, PAUSED, OPEN):
        return
    raise ServiceError(f"The season of {board.name} has just ended; try again.")


def _set_state(board: Board, at: Pointer, state: str) -> bool:
    moved, _ = pointer.move(
        board,
        believed=at,
        mode="keep",
        number=at.number,
        state=state,
        opens=at.opens,
        closes=at.closes,
    )(get_redis())
    return moved


def _pointer(board: Board) -> Pointer:
    at = pointer.current(board)
    if at is None:
        raise ServiceError(f"{board.name} has no season yet.")
    if at.state == CLOSED and not board.windows:
        raise ServiceError(
            f"{board.name} has no open season and no windows; past seasons are in SQL already. "
            "To archive one of them again, name it."
        )
    return at


def _report(build: Build, differences: list[Difference], *, swapped: bool = False) -> Report:
    return report(
        build.board,
        entries=len(build.season.entries),
        swapped=swapped,
        differences=differences,
        views=[(view.name, view.since) for view in build.views()],
    )
