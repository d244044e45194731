"""Checks of everything that comes in: ids, scores, details, counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from leaderboard.engine.errors import LeaderboardError

MOST_ID_BYTES = 256
MOST_KEY_BYTES = 256
MOST_DETAILS = 32
MOST_DETAIL_BYTES = 4096
MOST_ROWS = 10_000
MOST_RANK = 2**53
MOST_GROUP_BYTES = 256

# They break addresses and lines, and SQL takes no NUL.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")

Details = Mapping[str, object]


class Submission(msgspec.Struct, frozen=True, gc=False):
    """One row of `submit_many`; what is None follows the board's rules."""

    user_id: str
    score: float
    operator: str | None = None
    subscore: float | None = None
    metadata: Details | None = None
    idempotency_key: str | None = None
    source: str = ""


def checked_id(user_id: object) -> str:
    if isinstance(user_id, bytes):
        user_id = _decoded(user_id)
    text = user_id if isinstance(user_id, str) else _id_text(user_id)
    if not text:
        raise LeaderboardError(
            "The id of a player cannot be empty.", code="empty_id", field="user_id"
        )
    # A character takes at most four bytes, so that short ids need no encoding to be measured.
    if len(text) * 4 > MOST_ID_BYTES and _byte_length(text, "user_id") > MOST_ID_BYTES:
        raise LeaderboardError(
            f"The id of a player can have at most {MOST_ID_BYTES} bytes.",
            code="id_too_long",
            field="user_id",
        )
    if not text.isascii():
        _byte_length(text, "user_id")
    return text


def checked_printable_id(user_id: object) -> str:
    text = checked_id(user_id)
    if not text.isprintable() and _CONTROLS.search(text):
        raise LeaderboardError(
            "The id of a player cannot contain control characters.",
            code="invalid_id",
            field="user_id",
        )
    return text


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise LeaderboardError(
            "The id of a player must be text.", code="invalid_id", field="user_id"
        ) from None


def _id_text(user_id: object) -> str:
    if isinstance(user_id, int) and not isinstance(user_id, bool):
        return str(user_id)
    raise LeaderboardError("The id of a player must be text.", code="invalid_id", field="user_id")


def _byte_length(text: str, field: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise LeaderboardError(
            "Text must be valid Unicode.", code="invalid_text", field=field
        ) from None


def checked_number(value: Any, field: str = "score") -> float:
    """A finite double, exactly the number given; -0.0 becomes 0.0."""
    if isinstance(value, bool):
        raise LeaderboardError(f"The {field} must be a number.", code="not_a_number", field=field)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise LeaderboardError(
            f"The {field} must be a number.", code="not_a_number", field=field
        ) from None
    except OverflowError:
        number = float("inf")
    # True for NaN and for both infinities, and for nothing else.
    if number - number != 0.0:
        raise LeaderboardError(
            f"The {field} must be a finite number.", code="not_finite", field=field
        )
    if isinstance(value, int) and number != value:
        raise LeaderboardError(
            f"The {field} is too large to be stored exactly.", code="not_exact", field=field
        )
    return number + 0.0


def checked_count(value: Any, field: str, most: int = MOST_ROWS) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise LeaderboardError(
            f"{field} must be a whole number.", code="not_a_number", field=field
        ) from None
    if number < 1:
        raise LeaderboardError(f"{field} must be at least 1.", code="too_small", field=field)
    if number > most:
        raise LeaderboardError(f"{field} must be at most {most}.", code="too_large", field=field)
    return number


def checked_offset(value: Any) -> int:
    return checked_count(value + 1 if isinstance(value, int) else value, "offset", MOST_RANK) - 1


def detail_text(value: object) -> str:
    """The value of a detail as it is stored."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def flat_details(metadata: Details | None, groups: tuple[str, ...] = ()) -> list[str]:
    """Names and values in turn, all text; a detail that is None is left out."""
    kept = {name: value for name, value in (metadata or {}).items() if value is not None}
    return packed_details(kept, groups).texts


class PackedDetails(NamedTuple):
    """Details as rows.lua reads them: their number, names and values in turn, all text, and the
    names of those that are None, which removes a detail."""

    number: str
    texts: list[str]


NO_DETAILS = PackedDetails("0", [])


def packed_details(metadata: Details | None, groups: tuple[str, ...] = ()) -> PackedDetails:
    if not metadata:
        return NO_DETAILS
    flat: list[str] = []
    gone: list[str] = []
    for name, value in metadata.items():
        if value is None:
            gone.append(name if isinstance(name, str) else str(name))
            continue
        flat.append(name if isinstance(name, str) else str(name))
        flat.append(value if value.__class__ is str else detail_text(value))
    count = f"{len(flat) // 2} {len(gone)}" if gone else str(len(flat) // 2)
    flat += gone
    if len(metadata) > MOST_DETAILS:
        raise LeaderboardError(
            f"A player can have at most {MOST_DETAILS} details.",
            code="too_many_details",
            field="metadata",
        )
    text = "".join(flat)
    if "\0" in text:
        raise LeaderboardError(
            "Details cannot have NUL characters.", code="invalid_text", field="metadata"
        )
    if _byte_length(text, "metadata") > MOST_DETAIL_BYTES:
        raise LeaderboardError(
            f"A player's details can use at most {MOST_DETAIL_BYTES} bytes.",
            code="details_too_large",
            field="metadata",
        )
    for field in groups:
        if metadata.get(field) is not None:
            checked_group(field, detail_text(metadata[field]))
    return PackedDetails(count, flat)


def checked_group(field: str, value: str) -> str:
    if "\0" in value or _byte_length(value, "metadata") > MOST_GROUP_BYTES:
        raise LeaderboardError(
            f"The board is grouped by {field}: its value can have at most {MOST_GROUP_BYTES} "
            "bytes and no NUL.",
            code="invalid_group",
            field="metadata",
        )
    return value


def checked_key(idempotency_key: str | None) -> str:
    if idempotency_key is None:
        return ""
    if not isinstance(idempotency_key, str) or not idempotency_key:
        raise LeaderboardError(
            "An idempotency key must be text and not empty.",
            code="invalid_idempotency_key",
            field="idempotency_key",
        )
    if _byte_length(idempotency_key, "idempotency_key") > MOST_KEY_BYTES:
        raise LeaderboardError(
            f"An idempotency key can have at most {MOST_KEY_BYTES} bytes.",
            code="invalid_idempotency_key",
            field="idempotency_key",
        )
    return idempotency_key
