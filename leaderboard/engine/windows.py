"""Days, ISO weeks and months in a board's own time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

MICROSECONDS = 1_000_000
ALL_TIME = "all"


@dataclass(frozen=True, slots=True)
class Period:
    """One day, week or month: its name in keys, and its microseconds, the end excluded."""

    window: str
    name: str
    start: int
    end: int | None


def period_at(window: str, microseconds: int, zone: ZoneInfo) -> Period:
    """The period of a window that holds a moment."""
    if window == ALL_TIME:
        return Period(window, ALL_TIME, 0, None)
    day = datetime.fromtimestamp(microseconds // MICROSECONDS, zone).date()
    first, after = _bounds(window, day)
    return Period(window, _name(window, first), _midnight(first, zone), _midnight(after, zone))


def period_named(window: str, name: str, zone: ZoneInfo) -> Period:
    """The period with this name: `2026-11-16`, `2026-W47`, `2026-11` or `all`.

    Only as it is written here: Python reads numbers with spaces and line breaks around them too.
    """
    if window == ALL_TIME:
        if name != ALL_TIME:
            raise ValueError(name)
        return Period(window, ALL_TIME, 0, None)
    if window == "week":
        year, _, week = name.partition("-W")
        day = date.fromisocalendar(int(year), int(week), 1)
    else:
        day = date.fromisoformat(name if window == "day" else f"{name}-01")
    first, after = _bounds(window, day)
    if _name(window, first) != name:
        raise ValueError(name)
    return Period(window, name, _midnight(first, zone), _midnight(after, zone))


def periods_since(window: str, start: int, now: int, zone: ZoneInfo) -> list[Period]:
    """All periods of a window that touch the time between two moments, the latest first."""
    periods = [period_at(window, now, zone)]
    while periods[-1].end is not None and periods[-1].start > start:
        periods.append(period_at(window, periods[-1].start - 1, zone))
    return periods


def _bounds(window: str, day: date) -> tuple[date, date]:
    if window == "day":
        return day, day + timedelta(days=1)
    if window == "week":
        first = day - timedelta(days=day.weekday())
        return first, first + timedelta(days=7)
    first = day.replace(day=1)
    return first, (first + timedelta(days=31)).replace(day=1)


def _name(window: str, first: date) -> str:
    if window == "day":
        return first.isoformat()
    if window == "week":
        year, week, _ = first.isocalendar()
        return f"{year}-W{week:02}"
    return f"{first:%Y-%m}"


def _midnight(day: date, zone: ZoneInfo) -> int:
    # Where the clocks skip midnight, the day begins at the first moment that exists.
    moment = datetime.combine(day, time(), zone).astimezone(UTC)
    return int(moment.timestamp()) * MICROSECONDS
