"""The end of a season's keys, and a fresh start of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, Self

import msgspec

from leaderboard import keys
from leaderboard.engine.base import Board, Call, Operation
from leaderboard.engine.functions import LIBRARY

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

    def _fill_operation(self, rows: Iterable[FilledRow]) -> Operation[int]:
        """Works on views too. One packed argument for a portion: a thousand players as single
        arguments would cost the client more than the server."""
        rules = self._rules_of_view()
        pack = msgspec.msgpack.Encoder().encode
        remaining, filled = iter(rows), 0
        while portion := list(islice(remaining, FILLED_PER_CALL)):
            filled += yield Call(FILL, self._read_keys, [rules, pack(portion)], True)
        return filled

    def _drop_season_operation(self, number: int, waiting: Iterable[int]) -> Operation[int]:
        """One portion; returns how many players are left."""
        names, rules = self._keys_ever()
        others: list[Any] = [other for other in waiting if other != number]
        args = [rules, number, DROPPED_PER_CALL, *others]
        left: int = yield Call(DROP, names, args, True)
        return left
