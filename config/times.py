"""Times as text: one form, in answers, events and files."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_text(moment: datetime) -> str:
    """UTC to the microsecond, always of the same length: 2026-11-16T12:00:00.000000Z."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
