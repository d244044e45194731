"""What staff want to know of a board at a glance."""

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
        return _asked(boards)
    except OUTAGE_ERRORS:
        return {board.pk: BoardFacts(None, 0, 0) for board in boards}


def _asked(boards: Sequence[Board]) -> dict[int, BoardFacts]:
    pointers = pointer.read_all(boards)
    pipe = get_redis().pipeline(transaction=False)
    for board, at in zip(boards, pointers, strict=True):
        entries = keys.season_entries(board.key, at.number) if at else board.key
        pipe.zcard(entries)
        pipe.memory_usage(entries, samples=SAMPLES)
    replies = pipe.execute()
    return {
        board.pk: BoardFacts(at, replies[2 * index], replies[2 * index + 1] or 0)
        for index, (board, at) in enumerate(zip(boards, pointers, strict=True))
    }
