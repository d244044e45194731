"""Answers to clients that read slowly, or not at all."""

from __future__ import annotations

import asyncio
from typing import Any

PIECE = 64 * 1024  # bytes; what one reader who stalls can hold in memory
STALLED = 10.0  # seconds in which a reader must take one piece


class StalledError(Exception):
    """The client took nothing for too long. Nobody is left to tell; the connection ends."""


async def send_piece(send: Any, body: bytes, *, more: bool) -> None:
    try:
        async with asyncio.timeout(STALLED):
            await send({"type": "http.response.body", "body": body, "more_body": more})
    except TimeoutError:
        raise StalledError from None


async def send_body(send: Any, body: bytes) -> None:
    """The whole body. A large one goes in pieces: the server would keep what is not read."""
    for start in range(0, max(1, len(body)), PIECE):
        end = start + PIECE
        await send_piece(send, body[start:end], more=end < len(body))
