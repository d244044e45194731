"""Opening and closing seasons. Redis decides when a season ends; SQL follows and archives."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

from config.redis.connections import perform
from config.redis.locks import Held, hold
from leaderboard.access import audit
from leaderboard.access.audit import Actor
from leaderboard.closing import archive
from leaderboard.closing.archive import Progress
from leaderboard.errors import (
    SeasonClosedError,
    SeasonOverlapError,
    ServiceError,
    UnknownSeasonError,
)
from leaderboard.models import Board, Season
from leaderboard.models.schedule import period_of
from leaderboard.models.season import season_title
from leaderboard.seasons import pointer
from leaderboard.seasons.pointer import CLOSED, OPEN, PAUSED, Pointer

logger = logging.getLogger("rostrum.seasons")

LOCK_TIMEOUT = 10.0  # seconds until the lock of a dead holder is free
LOCK_WAIT = 10.0
# The clock of Redis may be this far ahead of ours without the worker being late.
CLOCK_MARGIN = timedelta(seconds=30)


def season_lock(board: Board, *, wait: float | None = None) -> AbstractContextManager[Held]:
    """One at a time moves or archives a board's seasons; `LockTakenError` when it is taken."""
    return hold(
        f"season:{board.slug}", timeout=LOCK_TIMEOUT, wait=LOCK_WAIT if wait is None else wait
    )


def open_season(
    *,
    board: Board,
    actor: Actor,
    name: str = "",
    opens: datetime | None = None,
    closes: datetime | None = None,
) -> Season:
    """Open the next season now, or plan it when `opens` is in the future.

    On a board with a schedule, the schedule decides when it ends. `ServiceError` when a season is
    open already, the times are wrong, or two seasons would overlap.
    """
    longest = Season._meta.get_field("name").max_length or 0
    if len(name) > longest:
        raise ServiceError(f"The name of a season has at most {longest} characters.", field="name")
    now = timezone.now()
    planned = opens is not None and opens > now
    _check_times(board, opens, closes, now)
    with season_lock(board):
        current = pointer.current(board)
        if planned:
            assert opens is not None
            return _plan(board, actor, name, opens, closes, current)
        _need_settled(board, current)
        if current is not None and current.is_open:
            raise SeasonOverlapError(
                f"{_title(board, current.number)} is still open; close it first."
            )
        need_no_plan(board)
        number = next_number(board, current)
        closes_at = (
            pointer.next_close(board, now) if closes is None else pointer.microseconds(closes)
        )
        return _open(board, current, number, closes_at, actor, name)


def open_planned(season: Season) -> None:
    """Called by the clock when a planned season's time has come."""
    board = season.board
    with season_lock(board):
        season.refresh_from_db()
        current = pointer.current(board)
        if season.state != Season.State.PLANNED or (
            current is not None and current.state != CLOSED
        ):
            return
        closes = None if season.closes is None else pointer.microseconds(season.closes)
        _open(board, current, season.number, closes, audit.WORKER)


def close_season(
    *,
    board: Board,
    actor: Actor,
    open_next: bool | None = None,
    number: int | None = None,
    archive_now: bool = True,
    progress: Progress | None = None,
) -> Season:
    """End the running season now and archive it; returns it, closed.

    Without `archive_now` the worker archives it, within moments. On a board with a schedule, or
    with `open_next`, the next season begins in the same instant. Give `number` to be sure to close
    no other season than that one.
    """
    with season_lock(board) as held:
        current = pointer.current(board)
        if number is not None:
            _check_known(board, number, current)
        _need_settled(board, current)
        if current is None or not current.is_open:
            last = "" if current is None else f" {_title(board, current.number)} is already closed."
            raise SeasonClosedError(f"{board.name} has no open season.{last}")
        if number is not None and number != current.number:
            why = "is already closed" if number < current.number else "has not begun"
            raise SeasonClosedError(f"{_title(board, number)} {why}.")
        if open_next is None:
            open_next = board.schedule != Board.Schedule.MANUAL
        if open_next:
            need_no_plan(board)
        now = timezone.now()
        end = pointer.move(
            board,
            believed=current,
            mode="end",
            number=current.number + 1 if open_next else current.number,
            state=OPEN if open_next else CLOSED,
            opens=None if open_next else current.opens,
            closes=pointer.next_close(board, now) if open_next else current.closes,
        )
        moved, _ = perform(end)
        if not moved:
            raise SeasonClosedError(f"{_title(board, current.number)} has just been closed.")
        audit.record("season.close", actor=actor, board=board, season=current.number)
        follow_pointer(board)
        season = Season.objects.get(board=board, number=current.number)
        if archive_now:
            archive.archive_season(season, held, progress=progress)
    return season


def closing_sentence(season: Season) -> str:
    """Describe the result to the person who closed the season."""
    board = season.board
    count = season.entries
    if season.state != Season.State.CLOSED:  # the worker archives it later
        count = board.engine(season.number).get_size()
    closed = ngettext(
        "%(season)s is closed with %(count)s player.",
        "%(season)s is closed with %(count)s players.",
        count,
    )
    closed %= {"season": season.title, "count": number_format(count, force_grouping=True)}
    current = pointer.read(board)
    planned = Season.objects.filter(board=board, state=Season.State.PLANNED).first()
    if current is not None and current.number > season.number:
        after = gettext("The next season has begun.")
    elif planned is not None:
        after = gettext("%(season)s is planned next.") % {"season": planned.title}
    else:
        after = gettext("No season follows until somebody opens one.")
    return f"{closed} {after}"


def follow_pointer(board: Board) -> bool:
    """Bring the Season rows in line with Redis; safe to repeat. False when the pointer is at a
    season that is closed in SQL: this call read it too late, or Redis came back too old."""
    current, ended = pointer.current(board), pointer.read_ended(board)
    with transaction.atomic():
        for past in ended:
            season, _ = Season.objects.get_or_create(
                board=board,
                number=past.number,
                defaults=_row(board, past.number, past.opens, past.closes)
                | {"state": Season.State.CLOSING},
            )
            season.advance(Season.State.CLOSING, closed_at=pointer.moment(past.ended))
        if current is None or not current.is_open:
            return True
        season, _ = Season.objects.get_or_create(
            board=board,
            number=current.number,
            defaults=_row(board, current.number, current.opens, current.closes),
        )
        return season.advance(Season.State.OPEN, opens=current.opens_at, closes=current.closes_at)


def leave_closed(board: Board, current: Pointer) -> None:
    """Move a pointer at a season that is closed in SQL, because Redis came back older than SQL, to
    the season that SQL has. Scores since then are in the log, and `rebuild --season` brings them
    into the archive."""
    with season_lock(board, wait=0):
        season = Season.objects.select_related("board").get(board=board, number=current.number)
        if season.state != Season.State.CLOSED or pointer.read(board) != current:
            return
        restored = pointer.restore(board, believed=current)
        if restored is not None and restored[0]:
            archive.drop(season)
            logger.warning(
                "The pointer was at a closed season; restored it from SQL",
                extra={"board": board.slug, "season": current.number},
            )


def archive_ended(board: Board, held: Held) -> int:
    """Archive the seasons that have ended, by the rules they were played by; returns how many."""
    board = Board.objects.get(pk=board.pk)
    ended = pointer.read_ended(board)
    if ended:
        follow_pointer(board)
    for past in ended:
        season = Season.objects.select_related("board").get(board=board, number=past.number)
        archive.archive_season(season, held)
    return len(ended)


def roll_if_over(board: Board, current: Pointer) -> bool:
    """Called by the clock: end the season when its time is over. True when this call did it."""
    if (
        not current.is_open
        or current.closes_at is None
        or current.closes_at > timezone.now() + CLOCK_MARGIN
    ):
        return False
    moved, _ = perform(pointer.roll(board, current))
    return moved


def reschedule(board: Board) -> None:
    """Let the running season end by the board's new calendar. The clock calls it too, for a process
    that died after it saved the calendar, and for a board that was being rebuilt."""
    with season_lock(board):
        current = pointer.current(board)
        if current is not None and current.state == PAUSED:
            return
        if current is None or not current.is_open:
            pointer.forget_note(board, pointer.RESCHEDULE)
            return
        move = pointer.move(
            board,
            believed=current,
            mode="keep",
            number=current.number,
            state=OPEN,
            opens=current.opens,
            closes=pointer.next_close(board, timezone.now()),
        )
        perform(move)
        pointer.forget_note(board, pointer.RESCHEDULE)
        follow_pointer(board)


def need_no_plan(board: Board) -> None:
    """`SeasonOverlapError` when a season is planned."""
    waiting = Season.objects.filter(board=board, state=Season.State.PLANNED).first()
    if waiting is not None:
        opens = waiting.opens.astimezone(board.zone)
        raise SeasonOverlapError(
            f"{waiting.title} is planned for {opens.day} {opens:%B %Y %H:%M} ({board.time_zone}); "
            "delete that plan first, in the admin's list of seasons."
        )


def _need_settled(board: Board, current: Pointer | None) -> None:
    if current is not None and current.state == PAUSED:
        raise ServiceError(f"{board.name} is being rebuilt; try again in a moment.")


def next_number(board: Board, current: Pointer | None) -> int:
    known = Season.objects.filter(board=board).aggregate(Max("number"))["number__max"] or 0
    return max(known, current.number if current else 0) + 1


def _open(
    board: Board,
    current: Pointer | None,
    number: int,
    closes: int | None,
    actor: Actor,
    name: str = "",
) -> Season:
    opening = pointer.move(
        board, believed=current, mode="keep", number=number, state=OPEN, closes=closes
    )
    moved, now_at = perform(opening)
    if not moved or now_at is None:
        raise SeasonOverlapError(f"Somebody else has just opened a season of {board.name}.")
    follow_pointer(board)
    season = Season.objects.get(board=board, number=number)
    if name:
        season.name = name
        season.save(update_fields=["name"])
    audit.record("season.open", actor=actor, board=board, season=number)
    return season


def _plan(
    board: Board,
    actor: Actor,
    name: str,
    opens: datetime,
    closes: datetime | None,
    current: Pointer | None,
) -> Season:
    if board.schedule != Board.Schedule.MANUAL:
        raise ServiceError(
            f"The seasons of {board.name} follow its schedule; they cannot be planned by hand."
        )
    if (
        current is not None
        and current.is_open
        and (current.closes_at is None or current.closes_at > opens)
    ):
        raise SeasonOverlapError(
            f"{_title(board, current.number)} would still run when the new one opens."
        )
    if Season.objects.filter(board=board, state=Season.State.PLANNED).exists():
        raise SeasonOverlapError(f"{board.name} has a planned season already.")
    number = next_number(board, current)
    season = Season.objects.create(
        board=board,
        number=number,
        name=name,
        state=Season.State.PLANNED,
        opens=opens,
        closes=closes,
    )
    audit.record("season.plan", actor=actor, board=board, season=number)
    return season


def _check_times(
    board: Board, opens: datetime | None, closes: datetime | None, now: datetime
) -> None:
    if closes is None:
        return
    if board.schedule != Board.Schedule.MANUAL:
        raise ServiceError(f"The seasons of {board.name} end by its schedule.", field="closes")
    if closes <= max(now, opens or now):
        raise ServiceError(
            "A season must close after it opens, and not in the past.", field="closes"
        )


def _row(board: Board, number: int, opens: int, closes: int | None) -> dict[str, object]:
    begin = pointer.moment(opens)
    period = period_of(board.schedule, board.zone, begin)
    # Closed by hand, and the next one begun in the same week: their titles must differ.
    if period and Season.objects.filter(board=board, period=period).exclude(number=number).exists():
        period = f"{period} {number}"
    return {
        "period": period,
        "state": Season.State.OPEN,
        "opens": begin,
        "closes": None if closes is None else pointer.moment(closes),
    }


def _check_known(board: Board, number: int, current: Pointer | None) -> None:
    known = current is not None and current.number == number
    if not known and not Season.objects.filter(board=board, number=number).exists():
        raise UnknownSeasonError(f"{board.name} has no season {number}.", field="season")


def _title(board: Board, number: int) -> str:
    season = Season.objects.filter(board=board, number=number).first()
    return f"{board.name}: {season.title if season else season_title('', '', number)}"
