"""A board played again in plain Python, from its events: for rebuilding and for sample data.

The rules are those of `scores.lua`; a test drives both side by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ranking:
    """The rules that decide who stands where."""

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
            # Plain Redis order; turned round when the highest stand first.
            raw = player_id.encode()
            when = (
                (bytes(255 - byte for byte in raw) + b"\xff",) if self.order == "desc" else (raw,)
            )
        return (score, -second, *when)


@dataclass(slots=True)
class Entry:
    score: float
    subscore: float | None
    at: int  # microseconds of the moment when this score was reached
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
        """Apply one submission; returns the resulting score. An equal score keeps its time."""
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
        """As the engine's `load` takes them."""
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
        """As the engine's `fill` takes them; `details` gives names and values in turn. By score:
        a sorted set takes neighbours one after the other much faster than in any order."""
        for player_id, entry in sorted(self.entries.items(), key=lambda item: item[1].score):
            yield (
                player_id,
                entry.score,
                entry.subscore,
                entry.at,
                entry.counter,
                details(player_id),
            )

    def _better(self, score: float, subscore: float | None, old: Entry) -> bool:
        if score != old.score:
            return (score > old.score) == self.descending
        return _worth(subscore, self.subscore) > _worth(old.subscore, self.subscore)


def _worth(subscore: float | None, order: str | None) -> float:
    """More is better; a missing subscore is worth less than any."""
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
