"""Play a board's events again in plain Python, for rebuilding and for sample data.

The rules are those of `scores.lua`; a test compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ranking:
    """The rules that decide ranks."""

    order: str
    ties: str
    ranking: str
    subscore: str | None

    def sort_key(self, player_id: str, entry: Entry) -> tuple[Any, ...]:
        """Smaller is better."""
        score = -entry.score if self.order == "desc" else entry.score
        second = _worth(entry.subscore, self.subscore)
        when: tuple[Any, ...] = (entry.at, entry.counter)
        if self.ties == "latest":
            when = (-entry.at, -entry.counter)
        elif self.ties == "member":
            # Plain Redis order, reversed if the highest score comes first.
            raw = player_id.encode()
            if self.order == "desc":
                raw = bytes(255 - byte for byte in raw) + b"\xff"
            when = (raw,)
        return (score, -second, *when)


@dataclass(slots=True)
class Entry:
    score: float
    subscore: float | None
    at: int  # when this score was reached, in microseconds
    counter: int


class Replay:
    """The entries of one sorted set: a season or a window."""

    def __init__(self, order: str, subscore: str | None, decimals: int | None = None) -> None:
        self.descending = order == "desc"
        self.subscore = subscore
        self.decimals = decimals
        self.entries: dict[str, Entry] = {}

    def score(
        self,
        player_id: str,
        operator: str,
        value: float,
        subscore: float | None,
        at: int,
        counter: int,
    ) -> float:
        """Apply one submission and return the resulting score. An equal score keeps its time."""
        old = self.entries.get(player_id)
        score, second = value, subscore
        if operator == "sum":
            score = (old.score if old else 0.0) + value
            if self.decimals is not None:
                score = round(score, self.decimals)
            score += 0.0  # no negative zero
        if operator != "best":
            if subscore is None and old is not None:
                second = old.subscore
        elif old is not None and not self._better(score, second, old):
            return old.score
        if old is None:
            self.entries[player_id] = Entry(score, second, at, counter)
        elif score != old.score or (self.subscore and second != old.subscore):
            old.score, old.subscore, old.at, old.counter = score, second, at, counter
        return score

    def remove(self, player_id: str) -> None:
        self.entries.pop(player_id, None)

    def reset(self) -> None:
        self.entries.clear()

    def trim(self, limit: int, ranking: Ranking) -> None:
        """Keep the best `limit`."""
        if len(self.entries) > limit:
            best = sorted(self.entries.items(), key=lambda item: ranking.sort_key(*item))
            self.entries = dict(best[:limit])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows for the engine's `load`."""
        for player_id, entry in self.entries.items():
            yield {
                "user_id": player_id,
                "score": entry.score,
                "subscore": entry.subscore,
                "at": entry.at,
                "counter": entry.counter,
            }

    def filled_rows(
        self, details: Callable[[str], list[str]] = lambda player_id: []
    ) -> Iterator[tuple[str, float, float | None, int, int, list[str]]]:
        """Rows for the engine's `fill`; `details` returns names and values in turn. Ordered by
        score: a sorted set takes neighbours much faster than members in any order."""
        for player_id, one in sorted(self.entries.items(), key=lambda item: item[1].score):
            yield player_id, one.score, one.subscore, one.at, one.counter, details(player_id)

    def _better(self, score: float, subscore: float | None, old: Entry) -> bool:
        if score != old.score:
            return (score > old.score) == self.descending
        return _worth(subscore, self.subscore) > _worth(old.subscore, self.subscore)


def _worth(subscore: float | None, order: str | None) -> float:
    """A number to compare subscores by: more is better, a missing subscore is the worst."""
    if order is None:
        return 0.0
    if subscore is None:
        return -math.inf
    return subscore if order == "desc" else -subscore


def standings(entries: dict[str, Entry], rules: Ranking) -> Iterator[tuple[int, int, str, Entry]]:
    """Position, rank, id and entry, best first."""
    ordered = sorted(entries.items(), key=lambda item: rules.sort_key(*item))
    rank, last = 0, None
    for position, (player_id, entry) in enumerate(ordered, 1):
        place = (entry.score, entry.subscore if rules.subscore else 0)
        if rules.ranking == "ordinal":
            rank = position
        elif place != last:
            rank = rank + 1 if rules.ranking == "dense" else position
        last = place
        yield position, rank, player_id, entry
