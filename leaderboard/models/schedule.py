"""When seasons end: calendar arithmetic in a board's own time zone."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

_CRON = {"daily": "0 0 * * *", "weekly": "0 0 * * 1", "monthly": "0 0 1 * *"}
_PERIOD = {"daily": "%Y-%m-%d", "weekly": "%G-W%V", "monthly": "%Y-%m"}


def validate_zone(name: str) -> None:
    if name not in available_timezones():
        raise ValidationError(
            _("“%(name)s” is not a time zone: expected a name such as Europe/Berlin."),
            params={"name": name},
        )


def validate_cron(line: str) -> None:
    try:
        if len(line.split()) != 5:  # CronSim would take a sixth for seconds
            raise CronSimError
        next(CronSim(line, datetime.now(UTC)))
    except (CronSimError, StopIteration):
        raise ValidationError(
            _(
                "“%(line)s” is not a cron line: expected minute, hour, day, month and weekday, "
                "such as 0 18 * * 5 for every Friday at 18:00."
            ),
            params={"line": line},
        ) from None


def cron_line(schedule: str, cron: str = "") -> str | None:
    """The cron line behind a schedule; None when seasons are closed by hand."""
    return cron if schedule == "cron" else _CRON.get(schedule)


def next_boundary(line: str, zone: ZoneInfo, after: datetime) -> datetime:
    """The first moment after `after` at which the season changes, in UTC."""
    moments = (moment.astimezone(UTC) for moment in CronSim(line, after.astimezone(zone)))
    # In an hour that occurs twice, CronSim begins with the first one, which may be over.
    return next(moment for moment in moments if moment > after)


def last_boundary(line: str, zone: ZoneInfo, at: datetime) -> datetime:
    """The last moment at or before `at` at which the season changed, in UTC."""
    moment = next(CronSim(line, at.astimezone(zone), reverse=True)).astimezone(UTC)
    # Backwards, CronSim excludes the start and skips some moments of an hour that occurs twice; the
    # boundary itself belongs to the new season.
    while (following := next_boundary(line, zone, moment)) <= at:
        moment = following
    return moment


def period_of(schedule: str, zone: ZoneInfo, opens: datetime) -> str:
    """The day, week or month of a season, such as 2026-11-16, 2026-W47 or 2026-11; "" on other
    schedules."""
    return opens.astimezone(zone).strftime(_PERIOD.get(schedule, ""))
