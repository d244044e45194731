"""Answers to clients that read slowly, or not at all."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
from pathlib import Path
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


def end_stalled_connections() -> None:
    """Let the kernel end each connection whose client takes nothing for `STALLED` seconds.

    That holds for every lane, also for what the server has taken from us and keeps for a reader.
    Connections inherit it from the listening socket, which each web process opens after it has
    loaded the application, without a word; so a thread looks for it. Linux only.
    """
    if sys.platform == "linux":
        threading.Thread(target=_find_listener, name="listener", daemon=True).start()


def _find_listener() -> None:
    while not any(_limited(int(entry.name)) for entry in Path("/proc/self/fd").iterdir()):
        time.sleep(0.05)


def _limited(descriptor: int) -> bool:
    try:
        found = socket.socket(fileno=descriptor)
    except OSError:  # no socket, or closed meanwhile
        return False
    try:
        if found.family == socket.AF_UNIX or not found.getsockopt(
            socket.SOL_SOCKET, socket.SO_ACCEPTCONN
        ):
            return False
        milliseconds = int(STALLED * 1000)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
    except OSError:
        return False
    finally:
        found.detach()  # it is not ours to close
    return True
