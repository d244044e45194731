"""Ranks while sample scores are played, so that a player's history has them."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any

from leaderboard.log.replay import Entry, Ranking


class Ranks:
    """The entries in order at every moment. A move costs a search and a shift of a short list:
    for boards of some thousands, not for a million."""

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking
        self._keys: list[tuple[Any, ...]] = []  # all entries, best first
        self._places: list[tuple[Any, ...]] = []  # score and second number of each, once
        self._known: dict[str, tuple[Any, ...]] = {}

    def rank(self, player_id: str, entry: Entry) -> int:
        """The player's rank now that they have this entry."""
        key = self.ranking.sort_key(player_id, entry)
        old = self._known.get(player_id)
        if key != old:
            if old is not None:
                self._remove(old)
            self._known[player_id] = key
            insort(self._keys, key)
            at = bisect_left(self._places, key[:2])
            if self._places[at : at + 1] != [key[:2]]:
                self._places.insert(at, key[:2])
        if self.ranking.ranking == "dense":
            return bisect_left(self._places, key[:2]) + 1
        # Score and second number alone sort before every key that begins with them.
        return bisect_left(self._keys, key if self.ranking.ranking == "ordinal" else key[:2]) + 1

    def _remove(self, key: tuple[Any, ...]) -> None:
        at = bisect_left(self._keys, key)
        del self._keys[at]
        beside = self._keys[max(0, at - 1) : at + 1]
        if all(other[:2] != key[:2] for other in beside):
            del self._places[bisect_left(self._places, key[:2])]
