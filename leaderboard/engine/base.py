"""What a board is made of: its key, rules and windows."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import msgspec

from config.redis.calls import Call, Steps
from config.redis.cluster import know_keys
from config.redis.replication import ReplicatedCall
from leaderboard import keys
from leaderboard.engine.errors import LeaderboardError
from leaderboard.engine.rules import checked_limit, rules_from
from leaderboard.engine.values import checked_id, checked_printable_id
from leaderboard.engine.windows import ALL_TIME, Period, period_at, period_named, periods_since


def text(value: Any) -> Any:
    """A reply as text, whether or not the client decodes."""
    return value.decode() if isinstance(value, bytes) else value


class Board:
    """A board's key, rules and windows. Its subclasses describe the operations.

    Keys, all under `key` (see `leaderboard.keys`): the entries in a sorted set, a hash of details
    per player, and what the rules ask for beyond that.
    """

    def __init__(
        self,
        redis_client: Any,
        key: str = "leaderboard:demo",
        max_entries: int | None = 100,
        **rules: Any,
    ) -> None:
        if not isinstance(key, str) or not key:
            raise LeaderboardError("A board needs a key.", code="invalid_key", field="key")
        know_keys(redis_client)
        self.redis = redis_client
        self.key = key
        self.max_entries = checked_limit(max_entries)
        self.rules = rules_from(rules)
        self.checked_id = checked_printable_id if self.rules.printable_ids else checked_id
        season = self.rules.season
        self.entries_key = key if season is None else keys.season_entries(key, season)
        # Only a view on a window or a past season has these.
        self._view_of: Period | None = None
        self._read_only = False
        self._clock_skew = 0  # of Redis against this machine, in microseconds; learnt when it shows
        self._valid_from = self._valid_until = 0
        self._keys_last: tuple[list[str], str] | None = None
        self._read_keys = [self.key, self.entries_key]
        replicated = self.rules.durability == "replicated"
        self._writing_call: type[Call] = ReplicatedCall if replicated else Call

    def _perform(self, steps: Steps[Any]) -> Any:
        """What a method does with the steps of its operation: see `operations.py`."""
        return steps

    # ---- views ----------------------------------------------------------------------------------

    def window(self, name: str, period: str | None = None) -> Self:
        """This board's day, week, month or all-time entries, to read from.

        `period` names a past one (`2026-11-16`, `2026-W47`, `2026-11`); None is the present one.
        """
        if name not in self.rules.windows:
            raise LeaderboardError(
                f"This board has no window {name!r}.", code="unknown_window", field="window"
            )
        if period is None:
            found = period_at(name, self.now(), self.rules.zone)
        else:
            try:
                found = period_named(name, period, self.rules.zone)
            except (ValueError, OverflowError):  # the last days of the calendar have no end
                raise LeaderboardError(
                    f"{period!r} is not a {name}.", code="invalid_period", field="period"
                ) from None
        if self._is_the_board(name):
            return self._view(self.entries_key)
        view = self._view(keys.window_entries(self.key, name, found.name))
        view._view_of = found
        return view

    def season(self, number: int) -> Self:
        """The entries of another season, to read from."""
        return self._view(keys.season_entries(self.key, number))

    def _in_season(self, number: int) -> Self:
        """The same board in another season, to write to."""
        board = copy.copy(self)
        board.rules = replace(self.rules, season=number)
        board.entries_key = keys.season_entries(self.key, number)
        board._read_keys = [self.key, board.entries_key]
        board._keys_last = None
        return board

    def _is_the_board(self, window: str) -> bool:
        """A board without seasons is its own all-time window."""
        return window == ALL_TIME and self.rules.season is None

    def _view(self, entries_key: str) -> Self:
        view = copy.copy(self)
        view.entries_key = entries_key
        view._read_keys = [self.key, entries_key]
        view._read_only = True
        return view

    # ---- time and keys --------------------------------------------------------------------------

    def now(self) -> int:
        """Microseconds by the clock of Redis, as far as it is known here."""
        return time.time_ns() // 1000 + self._clock_skew

    def _learn_time(self, microseconds: int) -> None:
        self._clock_skew = microseconds - time.time_ns() // 1000
        self._keys_last = None

    def _keys_now(self) -> tuple[list[str], str]:
        """The keys of a write at this moment, and the rules for the function.

        Computed again only when a window ends.
        """
        if self._keys_last is None or (
            self.rules.windows and not self._valid_from <= self.now() < self._valid_until
        ):
            now = self.now()
            periods = [
                period_at(name, now, self.rules.zone)
                for name in self.rules.windows
                if not self._is_the_board(name)
            ]
            self._valid_from = max((period.start for period in periods), default=0)
            ends = [period.end for period in periods if period.end is not None]
            self._valid_until = min(ends, default=2**53)
            rules = self._rules_text(periods, check_time=bool(ends))
            self._keys_last = self._keys_of(periods), rules
        return self._keys_last

    def _keys_ever(self) -> tuple[list[str], str]:
        """The keys of everything that is still kept, past windows included."""
        now = self.now()
        start = now - self.rules.retention
        periods = [
            period
            for name in self.rules.windows
            if not self._is_the_board(name)
            for period in periods_since(name, start, now, self.rules.zone)
        ]
        return self._keys_of(periods), self._rules_text(periods)

    def _keys_of(self, periods: Sequence[Period]) -> list[str]:
        names = [keys.window_entries(self.key, one.window, one.name) for one in periods]
        return [self.key, self.entries_key, *names]

    def _rules_text(
        self, periods: Sequence[Period], *, check_time: bool = False, own_expiry: str = ""
    ) -> str:
        """The rules of a write as `rules.lua` describes them."""
        rules = self.rules
        written: dict[str, Any] = rules.ranking_rules | rules.writing_rules
        if self.max_entries is not None:
            written["limit"] = self.max_entries
        if periods or own_expiry:
            written["expires"] = [own_expiry, *(self._expiry(period) for period in periods)]
        if check_time:
            written |= {"from": self._valid_from, "until": self._valid_until}
        return msgspec.json.encode(written).decode()

    def _rules_of_view(self) -> str:
        """The same, for a function that fills these entries alone, be they a window's."""
        expiry = self._expiry(self._view_of) if self._view_of else ""
        return self._rules_text([], own_expiry=expiry)

    def _expiry(self, period: Period) -> str:
        """When a window's keys may go, in milliseconds as text; '' for never."""
        if period.end is None:
            return ""
        return str((period.end + self.rules.retention) // 1000)

    def _check_writable(self) -> None:
        if self._read_only:
            raise LeaderboardError(
                "This is a view for reading: write to the board itself.",
                code="read_only",
                field="window",
            )
