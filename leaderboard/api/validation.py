"""What Pydantic found wrong, as the API says it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leaderboard.api.errors import ApiError

_SOURCES = {"query", "path", "body", "header", "form", "file", "cookie"}
_CODES = {"missing": "missing_field", "extra_forbidden": "unknown_field"}


def invalid_query(errors: Sequence[Any]) -> ApiError:
    """The first error: one at a time is what a person mends."""
    first = errors[0]
    place = list(first["loc"])
    if place and place[0] in _SOURCES:
        # Ninja puts the source and the name of the view's argument in front.
        place = place[1:]
        if len(place) > 1:
            place = place[1:]
    code = _CODES.get(first["type"], "invalid_value")
    field = ".".join(str(part) for part in place)
    return ApiError(422, code, f"{first['msg']}.", field=field or None)
