"""Answers outside of Django, and to clients that read slowly or not at all."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PIECE = 64 * 1024  # bytes; what one reader who stalls can hold in memory
STALLED = 10.0  # seconds in which a reader must take one piece


class StalledError(Exception):
    """The client read nothing for too long; the connection ends."""


async def send_json(
    send: Any,
    status: int,
    value: Mapping[str, Any],
    headers: Mapping[str, str],
    *,
    content_type: str = "application/json",
    with_body: bool = True,
) -> None:
    """A small answer that is never cached; without its body for HEAD."""
    body = json.dumps(value).encode()
    headers = {
        **headers,
        "Content-Type": content_type,
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    encoded = [(name.lower().encode(), text.encode("latin-1")) for name, text in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    body = body if with_body else b""
    await send({"type": "http.response.body", "body": body, "more_body": False})


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
    """Let the kernel end each connection whose client reads nothing for `STALLED` seconds.

    This includes what the server has buffered for a reader. Connections inherit the option from the
    listening socket, which each web process opens after it has loaded the application; there is no
    event for that, so a thread looks for the socket. Linux only.
    """
    if sys.platform == "linux":
        threading.Thread(target=_find_listener, name="listener", daemon=True).start()


def _find_listener() -> None:
    while not any(_set_timeout(int(entry.name)) for entry in Path("/proc/self/fd").iterdir()):
        time.sleep(0.05)


def _set_timeout(descriptor: int) -> bool:
    """Set the option if this is the listening socket."""
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
        found.detach()  # the server closes it
    return True
