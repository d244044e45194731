"""The season clock: ends, opens and archives seasons when nobody else does.

A score that arrives after a season's end moves the pointer itself; the clock does it for quiet
boards. One worker at a time is the clock, by a lock; archiving takes the board's own lock, so
that a person who closes a season by hand and the clock never do the same work.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.utils import timezone

from config.locks import LockTakenError
from leaderboard import nearby, pointer, rebuild
from leaderboard.models import Board, ScoreEvent, Season
from leaderboard.pointer import CLOSED, PAUSED, Pointer
from leaderboard.services import moderation, seasons

logger = logging.getLogger("rostrum.clock")

DELETED_AT_ONCE = 5000


class Clock:
    """Remembers what it has told SQL, so that a quiet second costs one round trip."""

    def __init__(self) -> None:
        self._told: dict[str, Pointer] = {}

    def tick(self) -> None:
        boards = list(Board.objects.all())
        for board, at in zip(boards, pointer.read_all(boards), strict=True):
            try:
                self.look_at(board, at)
            except LockTakenError:
                continue  # somebody moves this board's season right now

    def look_at(self, board: Board, at: Pointer | None) -> None:
        if at is None:
            self.restore(board)
            return
        if at.state == PAUSED:
            self.resume(board, at)
            return
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
            seasons.follow_pointer(board)
            self._told[board.slug] = at

    def restore(self, board: Board) -> None:
        """Redis has lost the board, or it is new: put back what SQL knows."""
        if pointer.current(board) is None:
            return
        moderation.apply_everywhere_rules(board)
        logger.warning(
            "The season pointer was lost and is restored; `manage.py rebuild` brings back scores",
            extra={"board": board.slug},
        )

    def resume(self, board: Board, at: Pointer) -> None:
        """A rebuild that died has left the board paused; nobody holds its lock then.

        It may have died between new rules and the keys that fit them, so it is done again.
        """
        with seasons.season_lock(board, wait=0):
            if pointer.read(board) == at:
                rebuild.rebuild_board(board)


def archive_waiting() -> int:
    """Archive every season that waits for it, whoever ended it; returns how many."""
    done = 0
    for board in Board.objects.all():
        if not pointer.read_ended(board):
            continue
        try:
            with seasons.season_lock(board, wait=0) as held:
                done += seasons.archive_ended(board, held)
        except LockTakenError:
            continue  # somebody archives this board right now
    return done


def sweep() -> None:
    """Lift restrictions whose time is over; forget places and scores that are kept no longer."""
    moderation.lift_expired()
    for board in Board.objects.all():
        nearby.sweep(board)
    for board in Board.objects.filter(history_days__isnull=False):
        forget_old_events(board)


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
