"""The running season of each board as this process last saw it, and the engines made for it.

Nobody asks Redis first. Readers and writers try the season seen last; when another one runs, Redis
says so in its reply, and they note it here and try again.

An engine costs more to make than the call it sends, so each is kept until the season changes or
somebody edits the board.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from config.redis.connections import get_async_redis, get_redis
from leaderboard.engine import AsyncRedisLeaderboard, RedisLeaderboard
from leaderboard.engine.board import Operations
from leaderboard.models import Board

Engine = TypeVar("Engine", bound=Operations)

_seasons: dict[str, int] = {}
# By slug: what an engine was made for, and the engine.
_readers: dict[str, tuple[Any, Operations]] = {}
_engines = threading.local()
_async_engines: WeakKeyDictionary[
    asyncio.AbstractEventLoop, dict[str, tuple[Any, AsyncRedisLeaderboard]]
] = WeakKeyDictionary()


def season(board: Board) -> int:
    """The season seen last; the first, when this process has seen none."""
    return _seasons.get(board.slug, 1)


def note_season(board: Board, number: int) -> None:
    _seasons[board.slug] = number


def reader(board: Board, season: int, window: str = "", period: str | None = None) -> Operations:
    """The reads of a season or of a window, for any client to send.

    `LeaderboardError` for a window that the board does not keep.
    """
    found = _kept(_readers, Operations, lambda: None, board, season)
    return found.window(window, period) if window else found


def engine(board: Board, season: int) -> RedisLeaderboard:
    """One for each thread, because an engine remembers which windows are now."""
    kept: dict[str, tuple[Any, RedisLeaderboard]] = _engines.__dict__
    return _kept(kept, RedisLeaderboard, get_redis, board, season)


def async_engine(board: Board, season: int) -> AsyncRedisLeaderboard:
    """One for each event loop, because it holds the loop's connections."""
    kept = _async_engines.setdefault(asyncio.get_running_loop(), {})
    return _kept(kept, AsyncRedisLeaderboard, get_async_redis, board, season)


def _kept(
    kept: dict[str, tuple[Any, Engine]],
    kind: type[Engine],
    client: Callable[[], Any],
    board: Board,
    season: int,
) -> Engine:
    version = (board.updated_at, season)
    found = kept.get(board.slug)
    if found is None or found[0] != version:
        made = kind(client(), board.key, board.max_entries, season=season, **board.rules())
        found = kept[board.slug] = (version, made)
    return found[1]
