"""The operations that answer questions about a board."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from config.redis.calls import Call, Command, Steps
from leaderboard import keys
from leaderboard.engine.base import Board, text
from leaderboard.engine.errors import LeaderboardError
from leaderboard.engine.functions import LIBRARY
from leaderboard.engine.operations import operation
from leaderboard.engine.positions import Position, last_position, skipped
from leaderboard.engine.values import (
    MOST_RANK,
    MOST_ROWS,
    checked_count,
    checked_group,
    checked_number,
    checked_offset,
)

PAGE = LIBRARY["read_page"]
PLAYERS = LIBRARY["read_players"]
GROUP = LIBRARY["read_group"]
GROUP_VALUES = LIBRARY["read_group_values"]
DISTRIBUTION = LIBRARY["read_distribution"]
RANK = LIBRARY["find_rank"]

MOST_BINS = 1000

Entry = dict[str, Any]
decode = msgspec.json.Decoder().decode


class ReadOperations(Board):
    @operation
    def get_top(self, count: int) -> Steps[list[Entry]]:
        """The best entries."""
        return (yield from self._page("page", checked_count(count, "count"), 0))

    @operation
    def get_page(self, offset: int, count: int) -> Steps[list[Entry]]:
        """Entries after skipping `offset` from the top."""
        count = checked_count(count, "count")
        return (yield from self._page("page", count, checked_offset(offset)))

    @operation
    def get_around_rank(self, rank: int, count: int) -> Steps[list[Entry]]:
        """Entries around a rank, always `count` of them when the board has as many."""
        rank = checked_count(rank, "rank", MOST_RANK)
        return (yield from self._page("rank", checked_count(count, "count"), rank))

    @operation
    def get_around_user(self, user_id: str, count: int) -> Steps[list[Entry]]:
        """Entries around a player; empty when the player is not on the board."""
        count = checked_count(count, "count")
        return (yield from self._page("user", count, self.checked_id(user_id)))

    @operation
    def get_score_range(
        self, low: float | None, high: float | None, *, offset: int = 0, count: int = 100
    ) -> Steps[list[Entry]]:
        """Entries with a score from low to high, both included; None is without bound."""
        found = yield from self._range_page(low, high, offset=offset, count=count)
        entries: list[Entry] = found["entries"]
        return entries

    def _range_page(
        self, low: float | None, high: float | None, *, offset: int | Position = 0, count: int = 100
    ) -> Steps[dict[str, Any]]:
        """As `get_score_range`, in `entries`, and how many there are in all, `size`. `next` is the
        position to go on from, as `offset`, whatever has moved meanwhile; None on the last page."""
        lowest = float("-inf") if low is None else checked_number(low, "low")
        highest = float("inf") if high is None else checked_number(high, "high")
        if lowest > highest:
            raise LeaderboardError("low must not be above high.", code="too_large", field="low")
        size, skip = checked_count(count, "count"), skipped(offset)
        args = ["d", "score", size, skip, repr(lowest), repr(highest)]
        reply = yield Call(PAGE, self._read_keys, [self.rules.text, *args])
        _, matching, first, columns, prefix = decode(reply)
        return self._found(self._entries(columns, first), matching, prefix)

    get_range_page = operation(_range_page)

    @operation
    def list_all(self) -> Steps[list[Entry]]:
        """The whole board."""
        entries: list[Entry] = []
        while True:
            batch = yield from self._page("page", MOST_ROWS, len(entries))
            entries += batch
            if len(batch) < MOST_ROWS:
                return entries

    def _scan(self, offset: int, count: int, details: bool) -> Steps[list[Entry]]:
        """One batch of a whole board in rank order, with all that an archive or a rebuild needs."""
        args = [self.rules.text, "a" if details else "s", "page", count, offset]
        reply = yield Call(PAGE, self._read_keys, args)
        _, _, first, columns, _ = decode(reply)
        entries = self._entries(columns, first, stamps=True)
        if not entries:
            return []
        if self.rules.ties == "member":
            return [entry | {"at": None, "counter": None} for entry in entries]
        width = self._width + 2
        pairs = zip(columns[width - 2 :: width], columns[width - 1 :: width], strict=True)
        return [
            entry | {"at": int(at), "counter": int(counter)}
            for entry, (at, counter) in zip(entries, pairs, strict=True)
        ]

    @operation
    def get_entries(self, user_ids: Iterable[str]) -> Steps[dict[str, Any]]:
        """Given players ranked among themselves, and `missing`, the ids not on the board."""
        ids = list(dict.fromkeys(self.checked_id(user_id) for user_id in user_ids))
        if len(ids) > MOST_ROWS:
            raise LeaderboardError(
                f"At most {MOST_ROWS} players at once.", code="too_large", field="user_ids"
            )
        _, places, _, columns = yield from self._players(ids, "d")
        found = self._entries(columns)
        known = {entry["user_id"] for entry in found}
        if self.rules.ranking == "ordinal":
            for entry, place in zip(found, places, strict=True):
                entry["rank"] = place
        pairs = sorted(zip(places, found, strict=True), key=lambda pair: pair[0])
        entries = self._ranked_among_themselves([entry for _, entry in pairs])
        return {"entries": entries, "missing": [one for one in ids if one not in known]}

    def _ranked_among_themselves(self, entries: list[Entry]) -> list[Entry]:
        """Entries in the board's order get ranks 1, 2, … and keep theirs as `board_rank`."""
        rank, last = 0, None
        for place, entry in enumerate(entries, 1):
            now = (entry["score"], entry.get("subscore"))
            if self.rules.ranking == "ordinal":
                rank = place
            elif now != last:
                rank = rank + 1 if self.rules.ranking == "dense" else place
            last = now
            entry["board_rank"], entry["rank"] = entry["rank"], rank
        return entries

    @operation
    def get_user_entry(self, user_id: str) -> Steps[Entry | None]:
        """A player's entry, None when not on the board."""
        _, places, _, columns = yield from self._players([self.checked_id(user_id)], "d")
        return self._entries(columns, places[0] - 1)[0] if columns else None

    @operation
    def get_user_metadata(self, user_id: str) -> Steps[dict[str, str]]:
        """A player's details."""
        found = yield Command("HGETALL", keys.user(self.key, self.checked_id(user_id)))
        return {text(name): text(value) for name, value in found.items()}

    @operation
    def get_size(self) -> Steps[int]:
        """The number of entries, hidden ones apart."""
        return int((yield Command("ZCARD", self.entries_key)))

    @operation
    def get_rank(self, user_id: str) -> Steps[int | None]:
        """A player's rank, None when not on the board."""
        _, places, _, columns = yield from self._players([self.checked_id(user_id)], "n")
        if not columns:
            return None
        rank: int = places[0] if self.rules.ranking == "ordinal" else columns[3]
        return rank

    @operation
    def get_offset(self, rank: int) -> Steps[int]:
        """How many entries are before the first with this rank, at most all."""
        rank = checked_count(rank, "rank", MOST_RANK)
        return int((yield Call(RANK, self._read_keys, [self.rules.text, rank])))

    def _ahead(self, user_id: str) -> Steps[tuple[int, int] | None]:
        """How many have a better score, and how many there are; None for an unknown player."""
        size, _, better, columns = yield from self._players([self.checked_id(user_id)], "b")
        return (better[0], size) if columns else None

    @operation
    def get_percentile(self, user_id: str) -> Steps[float | None]:
        """The share of the board, in percent, with a score that this player's equals or beats."""
        found = yield from self._ahead(user_id)
        if found is None:
            return None
        ahead, size = found
        return 100.0 * (size - ahead) / size

    @operation
    def get_group(
        self, field: str, value: str, *, offset: int | Position = 0, count: int = 100
    ) -> Steps[dict[str, Any]]:
        """One group ranked among themselves, as `get_range_page`; needs the rule `groups`."""
        self._check_group(field)
        args = [
            self.rules.text,
            "d",
            field,
            checked_group(field, str(value)),
            skipped(offset),
            checked_count(count, "count"),
        ]
        reply = yield Call(GROUP, self._read_keys, args)
        size, board_ranks, columns, first, prefix = decode(reply)
        entries = self._entries(columns, first)
        for entry, board_rank in zip(entries, board_ranks, strict=False):
            entry["board_rank"] = board_rank
        return self._found(entries, size, prefix)

    def _found(self, entries: list[Entry], size: int, prefix: str | bool) -> dict[str, Any]:
        following = None
        if entries:
            last = entries[-1]
            following = last_position(self.rules.ties, last["score"], last["user_id"], prefix)
        return {"entries": entries, "size": size, "next": following}

    def _group_values(self, field: str, count: int) -> Steps[list[str]]:
        self._check_group(field)
        args = [field, checked_count(count, "count")]
        return [text(value) for value in (yield Call(GROUP_VALUES, self._read_keys, args))]

    def _check_group(self, field: str) -> None:
        if field not in self.rules.groups:
            raise LeaderboardError(
                f"This board is not grouped by {field!r}.", code="unknown_group", field="field"
            )

    @operation
    def get_distribution(self, bins: int) -> Steps[list[dict[str, Any]]]:
        """How many entries lie in each of `bins` equal steps from lowest to highest score."""
        bins = checked_count(bins, "bins", MOST_BINS)
        reply = yield Call(DISTRIBUTION, [self.entries_key], [bins])
        edges = [float(edge) for edge in reply[::2]]
        return [
            {"low": low, "high": high, "count": count}
            for low, high, count in zip(edges, edges[1:], reply[1::2], strict=False)
        ]

    def _page(self, what: str, *args: Any) -> Steps[list[Entry]]:
        reply = yield Call(PAGE, self._read_keys, [self.rules.text, "d", what, *args])
        if not reply:
            return []
        _, _, first, columns, _ = decode(reply)
        return self._entries(columns, first)

    def _players(self, ids: list[str], wanted: str) -> Steps[Any]:
        reply = yield Call(PLAYERS, self._read_keys, [self.rules.text, wanted, *ids])
        return decode(reply)

    @property
    def _width(self) -> int:
        """How many columns a row of `columns.lua` has."""
        return 3 + (self.rules.ranking != "ordinal") + (self.rules.subscore is not None)

    def _entries(self, columns: Any, first: int = 0, *, stamps: bool = False) -> list[Entry]:
        """Entries from the columns of `columns.lua`; an empty list comes as an empty object."""
        if not columns:
            return []
        width = self._width + (2 if stamps and self.rules.ties != "member" else 0)
        ids, scores, details = columns[::width], columns[1::width], columns[2::width]
        ordinal = self.rules.ranking == "ordinal"
        ranks = range(first + 1, first + len(ids) + 1) if ordinal else columns[3::width]
        entries = [
            {
                "rank": rank,
                "user_id": user_id,
                "score": float(score),
                "metadata": dict(zip(*[iter(flat)] * 2, strict=True)) if flat else {},
            }
            for rank, user_id, score, flat in zip(ranks, ids, scores, details, strict=True)
        ]
        if self.rules.subscore is not None:
            for entry, subscore in zip(entries, columns[3 + (not ordinal) :: width], strict=True):
                entry["subscore"] = float(subscore) if subscore else None
        return entries
