"""Ranks after each sample score, so that a player's history has them."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any

from leaderboard.log.replay import Entry, Ranking


class Ranks:
    """All entries in order. A move costs a binary search and a shift of a list: fine for some
    thousands of players, not for a million."""

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking
        self._keys: list[tuple[Any, ...]] = []  # all entries, best first
        self._places: list[tuple[Any, ...]] = []  # each distinct score and subscore
        self._known: dict[str, tuple[Any, ...]] = {}

    def rank(self, player_id: str, entry: Entry) -> int:
        """Move the player to this entry, and return the new rank."""
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
        # Score and subscore alone sort before every key that begins with them.
        return bisect_left(self._keys, key if self.ranking.ranking == "ordinal" else key[:2]) + 1

    def _remove(self, key: tuple[Any, ...]) -> None:
        at = bisect_left(self._keys, key)
        del self._keys[at]
        beside = self._keys[max(0, at - 1) : at + 1]
        if all(other[:2] != key[:2] for other in beside):
            del self._places[bisect_left(self._places, key[:2])]
