"""Size and memory of boards, for staff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from config.redis.connections import OUTAGE_ERRORS, get_redis
from leaderboard import keys
from leaderboard.models import Board
from leaderboard.seasons import pointer
from leaderboard.seasons.pointer import Pointer

# Members that MEMORY USAGE looks at; the rest is extrapolated.
SAMPLES = 5


@dataclass(frozen=True)
class BoardFacts:
    pointer: Pointer | None
    size: int
    memory: int  # bytes of the running season's sorted set


def board_facts(boards: Sequence[Board]) -> dict[int, BoardFacts]:
    """Two round trips, however many boards. Without Redis, nothing is known."""
    try:
        return _read(boards)
    except OUTAGE_ERRORS:
        return {board.pk: BoardFacts(None, 0, 0) for board in boards}


def _read(boards: Sequence[Board]) -> dict[int, BoardFacts]:
    pointers = pointer.read_all(boards)
    pipe = get_redis().pipeline(transaction=False)
    for board, running in zip(boards, pointers, strict=True):
        entries = keys.season_entries(board.key, running.number) if running else board.key
        pipe.zcard(entries)
        pipe.memory_usage(entries, samples=SAMPLES)
    replies = pipe.execute()
    return {
        board.pk: BoardFacts(running, replies[2 * index], replies[2 * index + 1] or 0)
        for index, (board, running) in enumerate(zip(boards, pointers, strict=True))
    }
