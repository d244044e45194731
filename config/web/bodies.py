"""Request bodies, read into a bounded amount of memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Bodies up to this size are always accepted: a flood of large ones must not keep a score out.
SMALL = 64 * 1024


class BodyTooLargeError(Exception):
    """The body is longer than this address accepts."""


class ClientGoneError(Exception):
    """The client left, or took too long, before it had sent everything."""


class NoRoomError(Exception):
    """The process holds as many bytes of bodies as it may; the client can try again."""


class Room:
    """The bytes of bodies that a process holds at once, for one kind of caller."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.taken = 0

    async def read(self, receive: Any, largest: int) -> bytes:
        """The whole body. Raises one of the errors above."""
        parts: list[bytes] = []
        length = 0
        try:
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise ClientGoneError
                piece: bytes = message.get("body", b"")
                parts.append(piece)
                length += len(piece)
                self.taken += len(piece)
                if length > largest:
                    raise BodyTooLargeError
                if not message.get("more_body"):
                    return b"".join(parts)
                if length > SMALL and self.taken > self.size:
                    raise NoRoomError
        finally:
            self.taken -= length

    @contextmanager
    def holding(self, length: int) -> Iterator[None]:
        """A body that was read stays in memory until its request is answered."""
        self.taken += length
        try:
            yield
        finally:
            self.taken -= length
