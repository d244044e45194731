"""Boards as the fast lane has them: looked up in SQL every other second, not for every call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from weakref import WeakKeyDictionary

from config.sql import Shared
from leaderboard.api.errors import board_not_found
from leaderboard.models import Board
from leaderboard.models.board import LONGEST_SLUG

REMEMBER = 2.0  # seconds until a new board, or a change of a board's rules, is known here
MOST_REMEMBERED = 10_000


class BoardCache:
    """A board stays the same object until it is edited: whoever kept something made for a board
    compares by identity."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._found: dict[str, tuple[Board, float]] = {}  # until when it is taken as it is
        # Until when there is no such board. Remembered as long as a board is: otherwise the time an
        # answer takes would show whether a private board is there.
        self._missing: dict[str, float] = {}
        self._loading: Shared[Board | None] = Shared()

    def fresh(self, slug: str) -> Board | None:
        """The board, when it was looked up a moment ago."""
        board, until = self._found.get(slug, (None, 0.0))
        return board if self._clock() < until else None

    async def get(self, slug: str) -> Board:
        now = self._clock()
        if now < self._missing.get(slug, 0.0):
            raise board_not_found()
        board = await self._loading.ask(slug, _find, slug)
        if board is None:
            self._found.pop(slug, None)
            self._miss(slug, now + REMEMBER)
            raise board_not_found()
        self._missing.pop(slug, None)
        known, _ = self._found.get(slug, (None, 0.0))
        if known is not None and known.updated_at == board.updated_at:
            board = known
        elif len(self._found) >= MOST_REMEMBERED:
            del self._found[next(iter(self._found))]
        self._found[slug] = (board, now + REMEMBER)
        return board

    def _miss(self, slug: str, until: float) -> None:
        if len(slug) > LONGEST_SLUG:  # no board can have it
            return
        self._missing.pop(slug, None)  # the oldest stay in front
        if len(self._missing) >= MOST_REMEMBERED:
            del self._missing[next(iter(self._missing))]
        self._missing[slug] = until


def _find(slug: str) -> Board | None:
    return Board.objects.at(slug).first()


_caches: WeakKeyDictionary[asyncio.AbstractEventLoop, BoardCache] = WeakKeyDictionary()


def board_cache() -> BoardCache:
    """The running event loop's."""
    return _caches.setdefault(asyncio.get_running_loop(), BoardCache())
