"""The rules of a board, checked once, and the form in which functions read them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from leaderboard.engine.errors import LeaderboardError
from leaderboard.engine.values import checked_count, checked_number

MOST_ENTRIES = 2**31
WINDOWS = ("day", "week", "month", "all")
DAY_SECONDS = 86_400
MOST_DECIMALS = 15  # a double has no more

_ORDERS = ("desc", "asc")
_TIES = ("earliest", "latest", "member")
_RANKINGS = ("ordinal", "competition", "dense")
_SUBSCORES = (None, "desc", "asc")
_DURABILITIES = ("primary", "replicated")
# The letters by which `rows.lua` knows the operators.
OPERATORS = {"set": "s", "best": "b", "sum": "i"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a board ranks and what it keeps. The defaults are those of a plain board.

    `subscore` is the order of the second number, None for boards without one. `lowest`, `highest`
    and `largest_step` bound the scores; with `first_step` a first score counts as a step from 0.
    Sums are rounded to `decimals`, so that 0.1 and 0.7 make 0.8; None adds plain doubles.
    `groups` names the details by which the board is grouped.
    `windows` are kept in `time_zone` and outlive their end by `retention_days`. `season` is the
    season written to and read; a write is refused when it is not the open one. `events` keeps the
    last `event_cap` accepted writes in a stream, `notices` publishes each. With `durability`
    `replicated`, a write returns only when a replica has it too (`NotReplicatedError` otherwise).
    `printable_ids` refuses control characters in ids, which break addresses, lines and SQL.
    """

    order: str = "desc"
    operator: str = "set"
    ties: str = "member"
    ranking: str = "ordinal"
    subscore: str | None = None
    windows: tuple[str, ...] = ()
    time_zone: str = "UTC"
    retention_days: int = 35
    lowest: float | None = None
    highest: float | None = None
    largest_step: float | None = None
    first_step: bool = False
    decimals: int | None = None
    groups: tuple[str, ...] = ()
    season: int | None = None
    events: bool = False
    event_cap: int = 100_000
    notices: bool = False
    durability: str = "primary"
    printable_ids: bool = False
    text: str = field(init=False, repr=False, compare=False)
    zone: ZoneInfo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_choice("order", self.order, _ORDERS)
        _check_choice("ties", self.ties, _TIES)
        _check_choice("subscore", self.subscore, _SUBSCORES)
        _check_choice("ranking", self.ranking, _RANKINGS)
        _check_choice("operator", self.operator, tuple(OPERATORS))
        _check_choice("durability", self.durability, _DURABILITIES)
        put = object.__setattr__  # a frozen instance finishes itself here, once
        put(self, "text", msgspec.json.encode(self.ranking_rules).decode())
        put(self, "windows", _words("windows", self.windows))
        for window in self.windows:
            _check_choice("windows", window, WINDOWS)
        put(self, "groups", _words("groups", self.groups))
        put(self, "zone", _zone(self.time_zone))
        for name in ("lowest", "highest", "largest_step"):
            value = getattr(self, name)
            if value is not None:
                put(self, name, checked_number(value, name))
        if self.lowest is not None and self.highest is not None and self.lowest > self.highest:
            raise LeaderboardError(
                "lowest must not be above highest.", code="invalid_rule", field="lowest"
            )
        if self.largest_step is not None and self.largest_step < 0:
            raise LeaderboardError(
                "largest_step must not be negative.", code="invalid_rule", field="largest_step"
            )
        if self.decimals is not None:
            checked_count(self.decimals, "decimals", MOST_DECIMALS)
        if self.season is not None:
            checked_count(self.season, "season", MOST_ENTRIES)
        checked_count(self.retention_days + 1, "retention_days", 10_000)
        checked_count(self.event_cap, "event_cap", MOST_ENTRIES)

    @property
    def ranking_rules(self) -> dict[str, Any]:
        """What a read must know, as `rules.lua` describes it; `text` is the same as JSON."""
        names = ("order", "ties", "ranking", "subscore")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def writing_rules(self) -> dict[str, Any]:
        """What a write must know beyond that, as far as the board has it."""
        written: dict[str, Any] = {}
        for name in ("lowest", "highest", "largest_step", "decimals"):
            if getattr(self, name) is not None:
                written[name] = getattr(self, name)
        for name in ("first_step", "groups", "events", "notices"):
            if getattr(self, name):
                written[name] = getattr(self, name)
        if self.season is not None:
            written["season"] = str(self.season)
        if self.events:
            written["event_cap"] = str(self.event_cap)
        return written

    @property
    def prefix_length(self) -> int:
        """The bytes before the id in a member; see `stamps.lua`."""
        return (8 if self.subscore else 0) + (12 if self.ties != "member" else 0)

    @property
    def retention(self) -> int:
        """How long a window outlives its end, in microseconds."""
        return self.retention_days * DAY_SECONDS * 1_000_000

    @classmethod
    def names(cls) -> frozenset[str]:
        return frozenset(item.name for item in fields(cls) if item.init)


def rules_from(given: dict[str, Any]) -> Rules:
    unknown = sorted(set(given) - Rules.names())
    if unknown:
        raise LeaderboardError(
            f"There is no rule {unknown[0]!r}. Choose from: {', '.join(sorted(Rules.names()))}.",
            code="unknown_rule",
            field=unknown[0],
        )
    return Rules(**given)


def checked_limit(max_entries: Any) -> int | None:
    if max_entries is None:
        return None
    return checked_count(max_entries, "max_entries", MOST_ENTRIES)


def _check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        known = ", ".join(str(one) for one in choices)
        raise LeaderboardError(
            f"{name} cannot be {value!r}: choose one of {known}.", code="invalid_rule", field=name
        )


def _words(name: str, value: Iterable[str]) -> tuple[str, ...]:
    words = (value,) if isinstance(value, str) else tuple(value)
    if any(not isinstance(word, str) or not word for word in words) or len(set(words)) < len(words):
        raise LeaderboardError(
            f"{name} must not contain a value twice.", code="invalid_rule", field=name
        )
    return words


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError):
        raise LeaderboardError(
            f"There is no time zone {name!r}.", code="invalid_rule", field="time_zone"
        ) from None
