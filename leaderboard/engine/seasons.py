"""The end of a season's keys, and a fresh start of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, Self

import msgspec

from config.redis.calls import Steps
from leaderboard import keys
from leaderboard.engine.base import Board
from leaderboard.engine.functions import LIBRARY
from leaderboard.engine.operations import operation

DROP = LIBRARY["drop_season"]
FILL = LIBRARY["fill_entries"]
DROPPED_PER_CALL = 250  # two milliseconds of the server's time
FILLED_PER_CALL = 250  # four times as many in one call take the server a third more for each

# Id, score, subscore, microseconds, counter, and details' names and values in turn.
FilledRow = tuple[str, float, float | None, int, int, list[str]]


class SeasonOperations(Board):
    def beside(self) -> Self:
        """A view on fresh entries beside these, for a rebuild to fill; see `seasons.lua`."""
        view = self._view(keys.rebuilt(self.entries_key))
        view._view_of = self._view_of
        return view

    @operation
    def fill(self, rows: Iterable[FilledRow]) -> Steps[int]:
        """As `load`, for entries that are empty so far: several times as fast, nothing checked."""
        # One packed argument for a portion: a thousand players as single arguments would cost the
        # client more than the server.
        rules = self._rules_of_view()
        pack = msgspec.msgpack.Encoder().encode
        remaining, filled = iter(rows), 0
        while portion := list(islice(remaining, FILLED_PER_CALL)):
            filled += yield self._writing_call(FILL, self._read_keys, [rules, pack(portion)])
        return filled

    @operation
    def drop_season(self, number: int, *, waiting: Iterable[int] = ()) -> Steps[int]:
        """Drop a portion of another season, with the details of players who are in no other.

        Returns how many of its players are left: call it until that is 0. `waiting` are further
        seasons that keep the details of their players.
        """
        names, rules = self._keys_ever()
        others: list[Any] = [other for other in waiting if other != number]
        args = [rules, number, DROPPED_PER_CALL, *others]
        left: int = yield self._writing_call(DROP, names, args)
        return left
