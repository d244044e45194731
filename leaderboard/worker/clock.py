"""The season clock: ends, opens and archives seasons when nobody else does.

A score that arrives after a season's end moves the pointer itself; the clock does it for quiet
boards. One worker at a time is the clock, by a lock; archiving takes the board's own lock, so
that a person who closes a season by hand and the clock never do the same work.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.utils import timezone

from leaderboard.boards import changing, moderation, nearby
from leaderboard.closing import seasons
from leaderboard.log import consumer, rebuild, troubles
from leaderboard.models import Board, ScoreEvent, Season
from leaderboard.seasons import pointer
from leaderboard.seasons.pointer import CLOSED, PAUSED, Look, Pointer

logger = logging.getLogger("rostrum.clock")

DELETED_AT_ONCE = 5000


class Clock:
    """Remembers what it has told SQL, so that a quiet second costs one round trip."""

    def __init__(self, *, finishes: bool = True) -> None:
        """Without `finishes`, boards that have to be rebuilt are left to somebody else."""
        self._finishes = finishes
        self._told: dict[str, Pointer] = {}
        self._watch = troubles.Watch("clock")
        self._finishing = troubles.Watch("rebuild")

    def tick(self) -> None:
        known = list(Board.objects.all())
        for board, found in zip(known, pointer.look_at_all(known), strict=True):
            with self._watch.over(board):
                self.look_at(board, found)
        if self._finishes:
            self.finish_waiting()

    def look_at(self, board: Board, found: Look | Exception) -> None:
        if isinstance(found, Exception):
            raise found
        at = found.at
        if at is None:
            self.restore(board)
            return
        if at.state == PAUSED:
            return  # being rebuilt, or waiting for it
        if at.is_open and seasons.roll_if_over(board, at):
            logger.info("Season ended", extra={"board": board.slug, "season": at.number})
            at = pointer.current(board)
        elif at.state == CLOSED:
            due = Season.objects.filter(
                board=board, state=Season.State.PLANNED, opens__lte=timezone.now()
            ).first()
            if due is not None:
                seasons.open_planned(due)
                at = pointer.current(board)
        if at is not None and self._told.get(board.slug) != at:
            if not seasons.follow_pointer(board):
                seasons.leave_closed(board, at)
                return
            if at.is_open and rebuild.is_lost(board, at.number):
                with seasons.season_lock(board, wait=0):
                    rebuild.ask_for(board, at)
            self._told[board.slug] = at

    def restore(self, board: Board) -> None:
        """Redis has lost the board, or it is new: put back what SQL knows. Its scores follow."""
        if pointer.current(board) is not None:
            logger.warning(
                "The season pointer was lost and is restored; the board is rebuilt from its log",
                extra={"board": board.slug},
            )

    def finish_waiting(self) -> None:
        """Rebuild the boards that wait for it. Apart from `tick`: it may take minutes for one, and
        the seasons of the others must end in time."""
        known = list(Board.objects.all())
        for board, found in zip(known, pointer.look_at_all(known), strict=True):
            with self._finishing.over(board):
                self.finish(board, found)

    def finish(self, board: Board, found: Look | Exception) -> None:
        """A change that died has left the board paused, or Redis has lost its scores; nobody holds
        its lock then."""
        if isinstance(found, Exception):
            raise found
        if found.at is None:
            return
        if found.at.state == PAUSED or found.remake or found.reschedule:
            changing.finish(board=board)


def archive_waiting() -> int:
    """Archive every season that waits for it, whoever ended it; returns how many."""
    done = 0
    watch = troubles.Watch("archive")
    for board in Board.objects.all():
        with watch.over(board):
            if pointer.read_ended(board):
                with seasons.season_lock(board, wait=0) as held:
                    done += seasons.archive_ended(board, held)
    return done


def sweep() -> None:
    """Lift restrictions whose time is over; forget places, scores and readers that are kept no
    longer."""
    moderation.lift_expired()
    watch = troubles.Watch("sweep")
    known = list(Board.objects.all())
    for board in known:
        with watch.over(board):
            nearby.sweep(board)
            consumer.forget_idle_readers(board)
            if board.history_days is not None:
                forget_old_events(board)
    troubles.forget_others(board.slug for board in known)


def forget_old_events(board: Board) -> int:
    """Single scores of finished seasons beyond the board's `history_days`; returns how many."""
    assert board.history_days is not None
    before = timezone.now() - timedelta(days=board.history_days)
    finished = Season.objects.filter(
        board=board, state=Season.State.CLOSED, closed_at__lt=before
    ).values("number")
    old = ScoreEvent.objects.filter(board=board, season__in=finished)
    deleted = 0
    # In portions: on SQLite nobody else writes meanwhile.
    while portion := list(old.values_list("pk", flat=True)[:DELETED_AT_ONCE]):
        deleted += ScoreEvent.objects.filter(pk__in=portion).delete()[0]
    return deleted
