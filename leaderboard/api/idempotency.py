"""Idempotency-Key: a retry gets the first answer, a key used for something else gets 422.

The record of a key is a string: the fingerprint of its request, and behind a blank, once there is
one, the answer. Scores need no kept answer: the engine itself remembers each, in the function that
wrote it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from config.redis.connections import get_redis
from leaderboard.api.errors import ApiError

REMEMBERED_SECONDS = 24 * 3600
# A request that died without an answer; after this its key may be used again.
UNDER_WAY_SECONDS = 60

_KEY = re.compile(r"[!-~]{1,128}")


def checked(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ApiError(
            400,
            "bad_idempotency_key",
            "An Idempotency-Key has 1 to 128 characters: letters, digits and punctuation, no "
            "spaces.",
            field="Idempotency-Key",
        )
    return key


def other_body() -> ApiError:
    return ApiError(
        422,
        "idempotency_key_reused",
        "This Idempotency-Key was used for another request; use a new one for each.",
        field="Idempotency-Key",
    )


def under_way() -> ApiError:
    return ApiError(
        409,
        "request_under_way",
        "The first request with this Idempotency-Key is not finished yet.",
        field="Idempotency-Key",
        headers={"Retry-After": "1"},
    )


class Kept(msgspec.Struct, array_like=True):
    status: int
    content_type: str
    body: bytes


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Kept).decode


@dataclass(frozen=True)
class Record:
    """One idempotency key in use, for operations that run in Django."""

    key: str
    fingerprint: str

    def claim(self) -> Kept | None:
        """None when this request is the first; else the first one's answer."""
        before = get_redis().set(
            self.key, self.fingerprint, nx=True, get=True, ex=UNDER_WAY_SECONDS
        )
        if before is None:
            return None
        fingerprint, _, packed = before.partition(b" ")
        if fingerprint.decode() != self.fingerprint:
            raise other_body()
        if not packed:
            raise under_way()
        return _unpack(packed)

    def keep(self, status: int, content_type: str, body: bytes) -> None:
        packed = _pack(Kept(status, content_type, body))
        value = self.fingerprint.encode() + b" " + packed
        get_redis().set(self.key, value, ex=REMEMBERED_SECONDS)

    def release(self) -> None:
        get_redis().delete(self.key)
