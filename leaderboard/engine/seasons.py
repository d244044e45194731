"""The end of a season's keys, and a fresh start of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from leaderboard import keys
from leaderboard.engine.base import Board, Call, Operation, script

DROP = script("drop_season")
DROPPED_PER_CALL = 250  # about 5 ms of Redis's time, with all windows on


class SeasonOperations(Board):
    def beside(self) -> Self:
        """A view on fresh entries beside these, for a rebuild to fill; see `swap_entries.lua`."""
        view = self._view(keys.rebuilt(self.entries_key))
        view._view_of = self._view_of
        return view

    def _drop_season_operation(self, number: int, waiting: Iterable[int]) -> Operation[int]:
        """One portion; returns how many players are left."""
        names, extra = self._keys_ever()
        others = [other for other in waiting if other != number]
        args = [self._head, extra, number, DROPPED_PER_CALL, *others]
        left: int = yield Call(DROP, names, args)
        return left
