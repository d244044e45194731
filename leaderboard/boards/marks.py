"""Players whose submissions need a second look: the banned and the anonymous.

They are few, so each process keeps a board's marks for a second instead of reading them on every
write. A ban hides the player at once; a score that slips in meanwhile is hidden too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from config.redis.connections import get_async_redis, get_redis
from leaderboard import keys
from leaderboard.models import Board

BANNED, ANONYMOUS = "banned", "anonymous"
KEPT = 1.0  # seconds

_seen: dict[str, tuple[float, Mapping[str, str]]] = {}


def current(board: Board) -> Mapping[str, str]:
    """Player id → mark."""
    found = _seen.get(board.slug)
    if found is None or found[0] < time.monotonic():
        return _keep(board, get_redis().hgetall(keys.marks(board.key)))
    return found[1]


async def acurrent(board: Board) -> Mapping[str, str]:
    found = _seen.get(board.slug)
    if found is None or found[0] < time.monotonic():
        return _keep(board, await get_async_redis().hgetall(keys.marks(board.key)))
    return found[1]


def _keep(board: Board, marked: Mapping[bytes, bytes]) -> Mapping[str, str]:
    decoded = {player.decode(): mark.decode() for player, mark in marked.items()}
    _seen[board.slug] = (time.monotonic() + KEPT, decoded)
    return decoded


def forget(board: Board) -> None:
    """This process just changed the board's marks."""
    _seen.pop(board.slug, None)
