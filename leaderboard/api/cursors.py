"""Cursors: the place of a page's last entry, as text that nobody needs to read.

They go on from a score and not from a number of entries, so that nobody is read twice or missed
because others moved. Where ties go by id a cursor has the player's name as the page showed it: an
anonymous player's alias, which is looked up again when the cursor comes back.
"""

from __future__ import annotations

import math
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode

from leaderboard.api.errors import ApiError
from leaderboard.engine.positions import Position

_HEAD = struct.Struct(">dB")  # the score, and how many bytes stand before the name
LONGEST = 400  # characters; an id has 256 bytes at most


def written(position: Position) -> str:
    prefix = bytes.fromhex(position.prefix)
    raw = _HEAD.pack(position.score, len(prefix)) + prefix + position.user_id.encode()
    return urlsafe_b64encode(raw).decode().rstrip("=")


def read(text: str) -> Position:
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        score, length = _HEAD.unpack_from(raw)
        start = _HEAD.size + length
        name = raw[start:].decode()
        if not math.isfinite(score) or start > len(raw) or "\0" in name:
            raise ValueError(text)
        return Position(score, raw[_HEAD.size : start].hex(), name)
    except (ValueError, struct.error):
        raise ApiError(
            422, "invalid_value", "Take the cursor from `next` of another page.", field="cursor"
        ) from None
