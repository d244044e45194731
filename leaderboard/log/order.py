"""The score log in the order in which the board saw it, each idempotency key once.

The log can know more than the board: a primary may die after a worker has stored a score and before
a replica had it. The new primary goes on from an earlier sequence, and a client that was not
answered sends the same key again. Played as it is stored, such a log would count that score twice
and mix what was lost with what came after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

KEY_LIFE = 86_400 * 1_000_000  # microseconds in which a key counts once, as in `replays.lua`


def stream_order(stream_id: str | bytes) -> tuple[int, int]:
    """Ids of a stream as numbers, which sort as the stream does."""
    text = stream_id.decode() if isinstance(stream_id, bytes) else stream_id
    milliseconds, _, number = text.partition("-")
    return int(milliseconds), int(number or 0)


class Told(NamedTuple):
    """What there is to know of one event, by its columns."""

    sequence: int
    season: int
    op: str
    player_id: str
    operator: str
    value: float | None
    at: int
    data: dict[str, Any] | None
    idempotency_key: str
    stream_id: str


def in_order(rows: Iterable[Told]) -> Iterator[Told]:
    """Rows that come by sequence; where numbers were given twice, the lost ones first.

    Ids of a stream only grow, and a new primary's are later than those it never had.
    """
    twice: list[Told] = []
    for _, same in groupby(rows, key=lambda row: row.sequence):
        group = list(same)
        if len(group) == 1:
            yield from sorted(twice, key=_place)
            twice = []
            yield group[0]
        else:
            twice += group
    yield from sorted(twice, key=_place)


def _place(row: Told) -> tuple[int, int]:
    return stream_order(row.stream_id)


class Keys:
    """Which idempotency keys have been played within the last day."""

    def __init__(self) -> None:
        self._times: dict[tuple[str, str], int] = {}  # the oldest first

    def repeats(self, row: Told) -> bool:
        """Whether this key has counted for the player already; notes it if not."""
        if not row.idempotency_key:
            return False
        one = (row.player_id, row.idempotency_key)
        while self._times:
            oldest, at = next(iter(self._times.items()))
            if row.at - at < KEY_LIFE:
                break
            del self._times[oldest]
        if one in self._times:
            return True
        self._times[one] = row.at
        return False
