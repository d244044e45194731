"""Players that programs watch by name: those of all topics are read together."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import ClassVar
from weakref import WeakValueDictionary

from leaderboard.boards import standings
from leaderboard.boards.standings import Entry, Slice, Standings
from leaderboard.models import Board

PER_CALL = 1000  # players; a few milliseconds of Redis's time


class PlayersReader:
    """All who ask within one turn of the event loop share one read of everybody they ask for."""

    _readers: ClassVar[WeakValueDictionary[Hashable, PlayersReader]] = WeakValueDictionary()

    def __init__(self, board: Board, window: str) -> None:
        self._board = board
        self._window = window
        self._wanted: set[str] = set()
        self._reading: asyncio.Task[tuple[Standings, dict[str, Entry]]] | None = None

    @classmethod
    def of(cls, board: Board, window: str) -> PlayersReader:
        """The reader of this board and window in the running event loop."""
        name = (id(asyncio.get_running_loop()), board.slug, window, board.updated_at)
        reader = cls._readers.get(name)
        if reader is None:
            reader = cls._readers[name] = cls(board, window)
        return reader

    async def read(self, player_ids: Sequence[str]) -> Standings:
        self._wanted.update(player_ids)
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
        # Who gives up waiting does not take the answer from the others.
        found, entries = await asyncio.shield(self._reading)
        mine = [entries[player_id] for player_id in player_ids if player_id in entries]
        mine.sort(key=lambda entry: entry["place"])
        return replace(found, page=Slice(len(mine), mine))

    async def _read(self) -> tuple[Standings, dict[str, Entry]]:
        wanted, self._wanted = sorted(self._wanted), set()
        self._reading = None  # who asks from now on is read next time
        entries: dict[str, Entry] = {}
        for start in range(0, len(wanted), PER_CALL):
            some = wanted[start : start + PER_CALL]
            found = await standings.asome(self._board, some, window=self._window)
            for index, entry in enumerate(found.page.entries):
                entries[entry["user_id"]] = entry | {"place": (entry["rank"], index)}
        return found, entries
