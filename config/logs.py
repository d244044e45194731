"""Logs for people and machines: one line each, `key=value` after the message."""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "request"}

# With such an address from a log, anybody could set the password.
_RESET = "/accounts/reset/"
_SECRET = re.compile(rf"{_RESET}[^/\s]+/[^/\s]+")


class LineFormatter(logging.Formatter):
    """`2026-11-16T04:00:00.123Z INFO rostrum.access method=GET path=/ status=200 ms=3.2 id=…`"""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC)
        stamp = when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        parts = [stamp, record.levelname, record.name]
        message = record.getMessage()
        if message:
            parts.append(message)
        parts += [
            f"{key}={_quoted(value)}"
            for key, value in record.__dict__.items()
            if key not in _STANDARD and not key.startswith("_")
        ]
        line = " ".join(parts)
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return _SECRET.sub(_RESET + "…", line) if _RESET in line else line


def _quoted(value: object) -> str:
    """A value that cannot break its line or look like another field."""
    text = str(value)
    if text and text.isprintable() and not any(c in text for c in ' "='):
        return text
    return '"' + text.encode("unicode_escape").decode().replace('"', '\\"') + '"'
