"""Cursors: the place of a page's last entry, as text that nobody needs to read.

They go on from a score and not from a number of entries, so that nobody is read twice or missed
because others moved. Where ties go by id a cursor has the player's name as the page showed it: an
anonymous player's alias, which is looked up again when the cursor comes back.

Each is signed for its board. With a cursor of one's own making, any name could be compared with
the id of an anonymous player.
"""

from __future__ import annotations

import hmac
import math
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode

from django.conf import settings

from leaderboard.api.errors import ApiError
from leaderboard.engine.positions import Position

_HEAD = struct.Struct(">dB")  # the score, and the number of bytes before the name
_SIGNATURE = 12  # bytes, at the end
LONGEST = 400  # characters; an id has 256 bytes at most


def written(position: Position, slug: str) -> str:
    prefix = bytes.fromhex(position.prefix)
    place = _HEAD.pack(position.score, len(prefix)) + prefix + position.user_id.encode()
    return urlsafe_b64encode(place + _signature(place, slug)).decode().rstrip("=")


def read(text: str, slug: str) -> Position:
    """The place in a cursor that a page of this board gave."""
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        place, signature = raw[:-_SIGNATURE], raw[-_SIGNATURE:]
        if not hmac.compare_digest(signature, _signature(place, slug)):
            raise ValueError(text)
        score, length = _HEAD.unpack_from(place)
        start = _HEAD.size + length
        name = place[start:].decode()
        if not math.isfinite(score) or start > len(place) or "\0" in name:
            raise ValueError(text)
        return Position(score, place[_HEAD.size : start].hex(), name)
    except (ValueError, struct.error):
        raise ApiError(
            422, "invalid_value", "Take the cursor from `next` of another page.", field="cursor"
        ) from None


def _signature(place: bytes, slug: str) -> bytes:
    """Costs about two microseconds, once for each page that another follows."""
    text = b"cursor\0" + slug.encode() + b"\0" + place
    return hmac.digest(settings.SECRET_KEY.encode(), text, "sha256")[:_SIGNATURE]
