"""The union of several boards, seasons or windows, stored for a while and read like a board."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from config.redis.calls import Call, Steps
from leaderboard import keys
from leaderboard.engine.base import Board
from leaderboard.engine.errors import LeaderboardError
from leaderboard.engine.functions import LIBRARY
from leaderboard.engine.values import checked_count

UNION = LIBRARY["store_union"]

HOW = ("sum", "best", "last")
MOST_SOURCES = 1000
MERGED_PER_CALL = 20_000
LONGEST_TTL = 7 * 86_400


class UnionOperations(Board):
    def _union(self, others: Sequence[Board], how: str, ttl: int) -> Steps[Self]:
        if how not in HOW:
            raise LeaderboardError(
                f"how cannot be {how!r}: choose one of {', '.join(HOW)}.",
                code="invalid_union",
                field="how",
            )
        ttl = checked_count(ttl, "ttl", LONGEST_TTL)
        sources: list[Board] = [self, *others]
        checked_count(len(sources), "others", MOST_SOURCES)
        names = [one.entries_key for one in sources]
        digest = hashlib.sha256("\0".join([how, *names]).encode()).hexdigest()[:24]
        target = keys.union(self.key, digest)
        args = [
            self.rules.order,
            how,
            ttl,
            MERGED_PER_CALL,
            int(self.rules.ranking == "dense"),
            secrets.token_hex(8),
        ]
        decimals = _common_decimals(sources)
        lengths = [one.rules.prefix_length for one in sources]
        state = ""
        while True:
            reply = yield Call(UNION, [target, *names], [*args, state, decimals, *lengths])
            if not reply:
                break
            state = reply
        return self._plain_view(target)

    def _plain_view(self, entries_key: str) -> Self:
        """A union, or a source of one: its members are plain ids, whatever the board ranks ties
        by. Details are those of this board."""
        view = self._view(entries_key)
        view.rules = replace(
            self.rules, ties="member", subscore=None, groups=(), windows=(), season=None
        )
        return view


def _common_decimals(sources: Sequence[Board]) -> int | str:
    """Enough decimals for every source; '' when one of them adds plain doubles."""
    each = [one.rules.decimals for one in sources if one.rules.decimals is not None]
    return max(each) if len(each) == len(sources) else ""
