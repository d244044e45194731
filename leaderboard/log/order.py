"""The order in which a board saw the events of its score log, and each idempotency key once.

The log can have more than the board: a primary may die after a worker has stored a score and before
a replica received it. The new primary continues from an earlier sequence, and a client that got no
answer sends the same key again. Played as it is stored, such a log would count that score twice
and mix lost events with those that came after them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

KEY_LIFE = 86_400 * 1_000_000  # microseconds in which a key counts once, as in `replays.lua`


def stream_order(stream_id: str | bytes) -> tuple[int, int]:
    """The id of a stream entry as numbers, which sort as the stream does."""
    text = stream_id.decode() if isinstance(stream_id, bytes) else stream_id
    milliseconds, _, number = text.partition("-")
    return int(milliseconds), int(number or 0)


class LogRow(NamedTuple):
    """The columns of a `ScoreEvent` that a replay needs."""

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


def in_order(rows: Iterable[LogRow]) -> Iterator[LogRow]:
    """Rows that come by sequence; where a sequence occurs twice, lost events come first.

    The ids of a stream only grow, and those of a new primary are later than those it never had.
    """
    repeated: list[LogRow] = []
    for _, same in groupby(rows, key=lambda row: row.sequence):
        group = list(same)
        if len(group) > 1:
            repeated += group
            continue
        yield from sorted(repeated, key=_stream_order)
        repeated = []
        yield group[0]
    yield from sorted(repeated, key=_stream_order)


def _stream_order(row: LogRow) -> tuple[int, int]:
    return stream_order(row.stream_id)


class PlayedKeys:
    """The idempotency keys that were played within the last day."""

    def __init__(self) -> None:
        self._times: dict[tuple[str, str], int] = {}  # the oldest first

    def repeats(self, row: LogRow) -> bool:
        """Whether this key has already counted for the player. Remembers it if not."""
        if not row.idempotency_key:
            return False
        key = (row.player_id, row.idempotency_key)
        while self._times:
            oldest, at = next(iter(self._times.items()))
            if row.at - at < KEY_LIFE:
                break
            del self._times[oldest]
        if key in self._times:
            return True
        self._times[key] = row.at
        return False
