"""Boards as the fast lane knows them: looked up in SQL every other second, not for every call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from weakref import WeakKeyDictionary

from config.sql import Shared
from leaderboard.api.errors import board_not_found
from leaderboard.engine import AsyncRedisLeaderboard
from leaderboard.models import Board
from leaderboard.models.board import LONGEST_SLUG

REMEMBER = 2.0  # seconds until a new board, or a change of a board's rules, is known here
MOST_REMEMBERED = 10_000


class Card:
    """A board, and its engine for the season seen last."""

    __slots__ = ("_engine", "_season", "board", "until", "version")

    def __init__(self, board: Board, until: float) -> None:
        self.board = board
        self.until = until
        # Part of every ETag: other rules make other answers of the same entries.
        self.version = format(int(board.updated_at.timestamp() * 1e6), "x")
        self._season = 0
        self._engine: AsyncRedisLeaderboard | None = None

    @property
    def season(self) -> int:
        """0 until it was asked for."""
        return self._season

    async def engine(self, season: int) -> AsyncRedisLeaderboard:
        if self._engine is None or season != self._season:
            self._engine = await self.board.async_engine(season)
            self._season = season
        return self._engine


class Cards:
    """The boards of one event loop: engines hold its connections."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._cards: dict[str, Card] = {}
        # Until when there is no such board. Remembered as long as a board is: otherwise the time an
        # answer takes would show whether a private board is there.
        self._missing: dict[str, float] = {}
        self._loading: Shared[Board | None] = Shared()

    def fresh(self, slug: str) -> Card | None:
        """The card, when it was looked up a moment ago."""
        card = self._cards.get(slug)
        return card if card is not None and self._clock() < card.until else None

    async def get(self, slug: str) -> Card:
        asked = self._clock()
        if asked < self._missing.get(slug, 0.0):
            raise board_not_found()
        board = await self._loading.ask(slug, _find, slug)
        if board is None:
            self._cards.pop(slug, None)
            self._miss(slug, asked + REMEMBER)
            raise board_not_found()
        self._missing.pop(slug, None)
        card = self._cards.get(slug)
        if card is not None and card.board.updated_at == board.updated_at:
            card.until = asked + REMEMBER  # keeps its engine
            return card
        if len(self._cards) >= MOST_REMEMBERED:
            del self._cards[next(iter(self._cards))]
        card = self._cards[slug] = Card(board, asked + REMEMBER)
        return card

    def _miss(self, slug: str, until: float) -> None:
        if len(slug) > LONGEST_SLUG:  # no board can have it
            return
        self._missing.pop(slug, None)  # the oldest stay in front
        if len(self._missing) >= MOST_REMEMBERED:
            del self._missing[next(iter(self._missing))]
        self._missing[slug] = until


def _find(slug: str) -> Board | None:
    return Board.objects.at(slug).first()


_cards: WeakKeyDictionary[asyncio.AbstractEventLoop, Cards] = WeakKeyDictionary()


def cards() -> Cards:
    return _cards.setdefault(asyncio.get_running_loop(), Cards())
