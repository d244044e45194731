"""The season clock: ends, opens and archives seasons on time.

A score that arrives after a season's end moves the pointer itself; the clock does it for quiet
boards. A lock makes one worker the clock. Archiving takes the board's own lock, so the clock and a
person who closes a season by hand never do the same work.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
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
    """Remembers which pointers SQL has followed, so that a quiet second costs one round trip."""

    def __init__(self, *, finishes: bool = True) -> None:
        """Without `finishes`, another thread rebuilds boards."""
        self._finishes = finishes
        self._followed: dict[str, Pointer] = {}
        self._watch = troubles.Watch("clock")
        self._finishing = troubles.Watch("rebuild")

    def tick(self) -> None:
        _for_each_board(self._watch, self._sync)
        if self._finishes:
            self.finish_waiting()

    def finish_waiting(self) -> None:
        """Rebuild the boards that wait for it. Apart from `tick`: it may take minutes for one, and
        the seasons of the others must end in time."""
        _for_each_board(self._finishing, self._finish)

    def _sync(self, board: Board, found: Look) -> None:
        """Move the pointer when a season is over or due, and let SQL follow it."""
        current = found.pointer
        if current is None:
            if pointer.current(board) is not None:
                logger.warning(
                    "The season pointer was lost and is restored; the board is rebuilt from its "
                    "log",
                    extra={"board": board.slug},
                )
            return
        if current.state == PAUSED:
            return  # being rebuilt, or waiting for it
        if current.is_open and seasons.roll_if_over(board, current):
            logger.info("Season ended", extra={"board": board.slug, "season": current.number})
            current = pointer.current(board)
        elif current.state == CLOSED:
            due = Season.objects.filter(
                board=board, state=Season.State.PLANNED, opens__lte=timezone.now()
            ).first()
            if due is not None:
                seasons.open_planned(due)
                current = pointer.current(board)
        if current is not None and self._followed.get(board.slug) != current:
            if not seasons.follow_pointer(board):
                seasons.leave_closed(board, current)
                return
            if current.is_open and rebuild.is_lost(board, current.number):
                with seasons.season_lock(board, wait=0):
                    rebuild.request_rebuild(board, current)
            self._followed[board.slug] = current

    def _finish(self, board: Board, found: Look) -> None:
        """A process that died has left the board paused, or Redis has lost its scores."""
        if found.pointer is None:
            return
        if found.pointer.state == PAUSED or found.remake or found.reschedule:
            changing.finish(board=board)


def _for_each_board(watch: troubles.Watch, act: Callable[[Board, Look], None]) -> None:
    boards = list(Board.objects.all())
    for board, found in zip(boards, pointer.look_at_all(boards), strict=True):
        with watch.over(board):
            if isinstance(found, Exception):
                raise found
            act(board, found)


def archive_waiting() -> int:
    """Archive every season that has ended; returns how many."""
    done = 0
    watch = troubles.Watch("archive")
    for board in Board.objects.all():
        with watch.over(board):
            if pointer.read_ended(board):
                with seasons.season_lock(board, wait=0) as held:
                    done += seasons.archive_ended(board, held)
    return done


def sweep() -> None:
    """Lift restrictions that have expired; delete expired places, scores and idle consumers."""
    moderation.lift_expired()
    watch = troubles.Watch("sweep")
    boards = list(Board.objects.all())
    for board in boards:
        with watch.over(board):
            nearby.sweep(board)
            consumer.forget_idle_readers(board)
            if board.history_days is not None:
                forget_old_events(board)
    troubles.forget_others(board.slug for board in boards)


def forget_old_events(board: Board) -> int:
    """Single scores of finished seasons beyond the board's `history_days`; returns how many."""
    assert board.history_days is not None
    before = timezone.now() - timedelta(days=board.history_days)
    finished = Season.objects.filter(
        board=board, state=Season.State.CLOSED, closed_at__lt=before
    ).values("number")
    old = ScoreEvent.objects.filter(board=board, season__in=finished)
    deleted = 0
    # In portions, because SQLite lets nobody else write meanwhile.
    while portion := list(old.values_list("pk", flat=True)[:DELETED_AT_ONCE]):
        deleted += ScoreEvent.objects.filter(pk__in=portion).delete()[0]
    return deleted
