"""Create boards, change their rules, empty and delete them."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import transaction

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.access import audit
from leaderboard.access.audit import Actor
from leaderboard.boards import moderation
from leaderboard.closing import seasons
from leaderboard.errors import ServiceError
from leaderboard.log import rebuild
from leaderboard.log.differences import Report
from leaderboard.models import Board, ScoreEvent, Season
from leaderboard.seasons import pointer
from leaderboard.seasons.history import forget_season_list

Progress = Callable[[int, int], None]

# Rules by which the keys of a running season are laid out and its sums are rounded: with others it
# is made again.
REORDERING = frozenset(
    {
        "order",
        "ties",
        "ranking",
        "subscore_order",
        "groups",
        "windows",
        "time_zone",
        "score_format",
        "score_decimals",
    }
)
# Every process looks a board up again within this many seconds.
RULES_KNOWN_AFTER = 2.5


def create_board(*, actor: Actor, **values: Any) -> Board:
    """A new board with its first season open. `ValidationError` names what is wrong."""
    board = Board(**values)
    board.full_clean()
    with transaction.atomic():
        board.save()
        audit.record("board.create", actor=actor, board=board)
    begin(board, actor)
    return board


def begin(board: Board, actor: Actor) -> None:
    """What a saved board still needs before its first score."""
    moderation.apply_everywhere_rules(board)
    seasons.open_season(board=board, actor=actor)


def change_board(*, board: Board, changes: dict[str, Any], actor: Actor) -> None:
    """Change a board's settings. Rules that reorder a running season rebuild it from the log:
    scores wait meanwhile, a few seconds on most boards."""
    before = {name: getattr(board, name) for name in changes}
    changes = {name: value for name, value in changes.items() if value != before[name]}
    if not changes:
        return
    for name, value in changes.items():
        setattr(board, name, value)
    board.full_clean()
    scheduled = board.schedule != Board.Schedule.MANUAL
    if scheduled and "schedule" in changes:
        seasons.need_no_plan(board)

    def save() -> None:
        with transaction.atomic():
            board.revision += 1
            board.save()
            audit.record(
                "board.change",
                actor=actor,
                board=board,
                before={name: before[name] for name in changes},
                after=changes,
            )

    def save_and_wait() -> None:
        save()
        wait_until_known()

    # By hand, the end that somebody has set stays, in whatever zone.
    rescheduled = bool({"schedule", "cron"} & changes.keys()) or (
        scheduled and "time_zone" in changes
    )
    if rescheduled:
        pointer.note(board, pointer.RESCHEDULE, pointer.calendar(board))
    if REORDERING & changes.keys():
        with seasons.season_lock(board) as held:
            # The keys of a season that waits for its archive follow the rules of then.
            seasons.archive_ended(board, held)
            running = pointer.current(board)
            if running is None:
                save()
            else:
                old = Board.objects.get(pk=board.pk)
                rebuild.change_rules(board, running, before=old, save=save_and_wait)
    else:
        save()
    if rescheduled:
        seasons.reschedule(board)
    if changes.get("max_entries"):
        board.engine().set_max_entries(board.max_entries, source="settings")


def wait_until_known() -> None:
    """A process that knows the old rules must not write by them to the new keys."""
    time.sleep(RULES_KNOWN_AFTER)


def finish(*, board: Board) -> None:
    """Finish what somebody has begun who died, or bring back a board that Redis has lost.

    `LockTakenError` when somebody is at work on it.
    """
    with seasons.season_lock(board, wait=0):
        board.refresh_from_db()
        found = pointer.look(board)
        if found.remake:
            moderation.apply_everywhere_rules(board)
        rebuild.finish_rebuild(board)
    if found.reschedule == pointer.calendar(board):
        seasons.reschedule(board)
    elif found.reschedule:
        pointer.forget_note(board, pointer.RESCHEDULE)


def rebuild_board(
    *,
    board: Board,
    actor: Actor,
    check: bool = False,
    allow_loss: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Make the live board again from the score log, or with `check` only compare.

    `WouldLoseError` when the live board has entries that the log does not have; `allow_loss` lets
    them go.
    """
    if check:
        return rebuild.check_board(board, progress=progress)
    with seasons.season_lock(board):
        moderation.apply_everywhere_rules(board)
        report = rebuild.rebuild_board(board, progress=progress, allow_loss=allow_loss)
    audit.record(
        "board.rebuild",
        actor=actor,
        board=board,
        differences=report.count,
        lost=report.lost_count,
    )
    return report


def reset_board(
    *, board: Board, actor: Actor, season_only: bool = False, keep_archive: bool = False
) -> None:
    """Empty a board.

    `season_only`: the running season and its windows; past seasons and the log stay.
    `keep_archive`: the log goes too, final standings stay. Neither: everything, as if new.
    """
    with seasons.season_lock(board):
        if season_only:
            running = pointer.read(board)
            if running is None or not running.is_open:
                raise ServiceError(f"{board.name} has no open season to reset.")
            board.engine(running.number).clear(source=f"staff:{actor.name}"[:64])
            forget_keys(f"{board.key}:import")  # the same files may be imported again
            audit.record("board.reset", actor=actor, board=board, scope="season")
            return
        with rebuild.settled(board):
            sequence = int(get_redis().get(keys.sequence(board.key)) or 0)
            with transaction.atomic():
                ScoreEvent.objects.filter(board=board).delete()
                kept = Season.State.CLOSED if keep_archive else ""
                Season.objects.filter(board=board).exclude(state=kept).delete()
                audit.record(
                    "board.reset", actor=actor, board=board, scope="live" if keep_archive else "all"
                )
            forget_keys(board.key)
        # Open pages and caches know the board by its sequence.
        get_redis().set(keys.sequence(board.key), sequence + 1)
        forget_season_list(board.pk)
    begin(board, actor)


def delete_board(*, board: Board, actor: Actor) -> None:
    """Everything about a board, in SQL and in Redis. SQL goes first: a board that is gone from
    there takes no more scores, so nothing is written behind the cleaning."""
    key = board.key
    with transaction.atomic():
        audit.record("board.delete", actor=actor, slug=board.slug, name=board.name)
        board.delete()
        transaction.on_commit(partial(forget_keys, key))


def forget_keys(key: str) -> None:
    """Drop every key below a board's base key. A scan, in portions: an index of all keys would
    cost every write more than this costs a few times a year."""
    client = get_redis()
    client.unlink(key)
    found = []
    for name in client.scan_iter(match=f"{key}:*", count=1000):
        found.append(name)
        if len(found) == 500:
            client.unlink(*found)
            found = []
    if found:
        client.unlink(*found)
