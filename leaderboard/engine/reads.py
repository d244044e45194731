"""The operations that answer questions about a board."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from leaderboard.engine.base import Board, Call, Operation, script
from leaderboard.engine.errors import LeaderboardError
from leaderboard.engine.values import (
    MOST_RANK,
    MOST_ROWS,
    checked_count,
    checked_id,
    checked_number,
    checked_offset,
)

PAGE = script("read_page")
PLAYERS = script("read_players")

Entry = dict[str, Any]
decode = msgspec.json.Decoder().decode


class ReadOperations(Board):
    def _top_operation(self, count: int) -> Operation[list[Entry]]:
        page = yield from self._page("page", checked_count(count, "count"), 0)
        return self._entries(page[3])

    def _page_operation(self, offset: int, count: int) -> Operation[list[Entry]]:
        page = yield from self._page("page", checked_count(count, "count"), checked_offset(offset))
        return self._entries(page[3])

    def _around_rank_operation(self, rank: int, count: int) -> Operation[list[Entry]]:
        rank = checked_count(rank, "rank", MOST_RANK)
        page = yield from self._page("rank", checked_count(count, "count"), rank)
        return self._entries(page[3])

    def _around_user_operation(self, user_id: str, count: int) -> Operation[list[Entry]]:
        page = yield from self._page("user", checked_count(count, "count"), checked_id(user_id))
        return self._entries(page[3]) if page else []

    def _score_range_operation(
        self, low: float | None, high: float | None, offset: int, count: int
    ) -> Operation[list[Entry]]:
        lowest = "-inf" if low is None else repr(checked_number(low, "low"))
        highest = "+inf" if high is None else repr(checked_number(high, "high"))
        if low is not None and high is not None and float(low) > float(high):
            raise LeaderboardError("low must not be above high.", code="too_large", field="low")
        skip = checked_offset(offset)
        count = checked_count(count, "count")
        page = yield from self._page("score", count, skip, lowest, highest)
        return self._entries(page[3])

    def _all_operation(self) -> Operation[list[Entry]]:
        entries: list[Entry] = []
        while True:
            page = yield from self._page("page", MOST_ROWS, len(entries))
            entries += self._entries(page[3])
            if len(page[3]) < MOST_ROWS:
                return entries

    def _scan_operation(self, offset: int, count: int, details: bool) -> Operation[list[Entry]]:
        """One batch of a whole board in rank order, with all that an archive or a rebuild needs."""
        reply = yield Call(
            PAGE, self._read_keys, [self.rules.flags, "page", count, offset, int(details)]
        )
        batch = []
        for row in decode(reply)[3]:
            entry = self._entry(row)
            entry["at"] = int(row[4]) if row[4] else None
            entry["counter"] = int(row[5]) if row[5] else None
            batch.append(entry)
        return batch

    def _players_operation(self, user_ids: Iterable[str]) -> Operation[dict[str, Any]]:
        ids = list(dict.fromkeys(checked_id(user_id) for user_id in user_ids))
        if len(ids) > MOST_ROWS:
            raise LeaderboardError(
                f"At most {MOST_ROWS} players at once.", code="too_large", field="user_ids"
            )
        found = yield from self._players(ids, details=True)
        rows = sorted(found[1], key=lambda row: row[7])
        entries, last, rank = [], None, 0
        for place, row in enumerate(rows, 1):
            if self.rules.ranking == "ordinal":
                rank = place
            elif (row[2], row[3]) != last:
                rank = rank + 1 if self.rules.ranking == "dense" else place
            last = (row[2], row[3])
            entries.append(self._entry(row) | {"rank": rank, "board_rank": row[0]})
        known = {row[1] for row in rows}
        return {"entries": entries, "missing": [one for one in ids if one not in known]}

    def _entry_operation(self, user_id: str) -> Operation[Entry | None]:
        found = yield from self._players([checked_id(user_id)], details=True)
        return self._entry(found[1][0]) if found[1] else None

    def _rank_operation(self, user_id: str) -> Operation[int | None]:
        found = yield from self._players([checked_id(user_id)], details=False)
        return found[1][0][0] if found[1] else None

    def _percentile_operation(self, user_id: str) -> Operation[float | None]:
        size, rows = yield from self._players([checked_id(user_id)], details=False)
        return 100.0 * (size - rows[0][8]) / size if rows else None

    def _page(self, *args: Any) -> Operation[Any]:
        what, count, start, *bounds = args
        reply = yield Call(
            PAGE, self._read_keys, [self.rules.flags, what, count, start, 1, *bounds]
        )
        return decode(reply) if reply else None

    def _players(self, ids: list[str], *, details: bool) -> Operation[Any]:
        reply = yield Call(PLAYERS, self._read_keys, [self.rules.flags, int(details), *ids])
        return decode(reply)

    def _entries(self, rows: list[list[Any]]) -> list[Entry]:
        if self.rules.subscore is not None:
            return [self._entry(row) for row in rows]
        return [
            {"rank": rank, "user_id": user_id, "score": float(score), "metadata": details}
            for rank, user_id, score, _, _, _, details in rows
        ]

    def _entry(self, row: list[Any]) -> Entry:
        entry = {"rank": row[0], "user_id": row[1], "score": float(row[2]), "metadata": row[6]}
        if self.rules.subscore is not None:
            entry["subscore"] = float(row[3])
        return entry
