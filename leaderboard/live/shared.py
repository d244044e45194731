"""Reads that all topics of a board's season or window share.

Topics differ in language, in the players that they follow and in who may be named, not in what
Redis holds. A board's topics refresh in the same turn of the event loop, so one read serves all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Generic, TypeVar
from weakref import WeakValueDictionary

from config.sql import ask_sql
from leaderboard.access.people import accounts_of
from leaderboard.boards import final, standings
from leaderboard.boards.standings import Slice, Standings
from leaderboard.entries import Entry
from leaderboard.models import Board
from sessions_app import presence

PER_CALL = 1000  # players; a few milliseconds of Redis's time

# Rank, and position among those that were read together: equal ranks keep their order.
Placed = tuple[tuple[int, int], Entry]

T = TypeVar("T")


class Batch(Generic[T]):
    """Callers within one turn of the event loop share one read of all the ids that they want."""

    def __init__(self) -> None:
        self._wanted: set[str] = set()
        self._reading: asyncio.Task[T] | None = None

    async def get(
        self, read: Callable[[list[str]], Awaitable[T]], player_ids: Iterable[str] = ()
    ) -> T:
        self._wanted.update(player_ids)
        if self._reading is None:
            self._reading = asyncio.create_task(self._read(read))
        # A caller that is cancelled does not cancel the read of the others.
        return await asyncio.shield(self._reading)

    async def _read(self, read: Callable[[list[str]], Awaitable[T]]) -> T:
        wanted, self._wanted = sorted(self._wanted), set()
        self._reading = None  # later callers get a new read
        return await read(wanted)


class SharedReads:
    """What a board's sources read, with the real ids of anonymous players."""

    _by_name: ClassVar[WeakValueDictionary[Hashable, SharedReads]] = WeakValueDictionary()

    def __init__(self, board: Board, window: str) -> None:
        self._board = board
        self._window = window
        self._accounts: dict[str, int | None] = {}
        self._top: Batch[Standings] = Batch()
        self._players: Batch[tuple[Standings, dict[str, Placed]]] = Batch()
        self._online: Batch[set[str]] = Batch()

    @classmethod
    def of(cls, board: Board, window: str) -> SharedReads:
        """Those of this board and window in the running event loop."""
        name = (id(asyncio.get_running_loop()), board.slug, window, board.updated_at)
        found = cls._by_name.get(name)
        if found is None:
            found = cls._by_name[name] = cls(board, window)
        return found

    async def top(self) -> Standings:
        """The first page; of a season that is over, the final standings."""
        return await self._top.get(self._read_top)

    async def players(self, player_ids: Sequence[str]) -> Standings:
        """The given players by their ranks on the board."""
        found, entries = await self._players.get(self._read_players, player_ids)
        wanted = [entries[player_id] for player_id in player_ids if player_id in entries]
        wanted.sort(key=lambda placed: placed[0])
        return replace(found, page=Slice(len(wanted), [entry for _, entry in wanted]))

    async def online(self, player_ids: Sequence[str]) -> set[str]:
        """Those of the given players whose account is on the site now."""
        return await self._online.get(self._read_online, player_ids)

    async def _read_top(self, _: list[str]) -> Standings:
        found = await standings.atop(self._board, window=self._window)
        if self._window or not final.is_over(found):
            return found
        return await ask_sql(final.page, self._board, found)

    async def _read_players(self, wanted: list[str]) -> tuple[Standings, dict[str, Placed]]:
        entries: dict[str, Placed] = {}
        for start in range(0, len(wanted), PER_CALL):
            some = wanted[start : start + PER_CALL]
            found = await standings.asome(self._board, some, window=self._window)
            for index, entry in enumerate(found.page.entries):
                entries[entry.player_id] = ((entry.rank, index), entry)
        return found, entries

    async def _read_online(self, wanted: list[str]) -> set[str]:
        unknown = [player_id for player_id in wanted if player_id not in self._accounts]
        if unknown:
            found = await ask_sql(accounts_of, unknown)
            # Players without an account are kept too. An account created later shows when the
            # board's topics have been dropped.
            self._accounts |= {player_id: found.get(player_id) for player_id in unknown}
        players = {
            account: player_id
            for player_id in wanted
            if (account := self._accounts[player_id]) is not None
        }
        return {players[account] for account in await presence.aonline_among(players)}
