"""One request to an ASGI application, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    complete: bool

    def header(self, name: bytes) -> bytes | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


async def ask(
    application: Any,
    path: str = "/",
    *,
    method: str = "GET",
    query: bytes = b"",
    headers: Iterable[tuple[bytes, bytes]] = (),
    body: Iterable[bytes] = (b"",),
) -> Answer:
    """`body` arrives in pieces, as from a slow client, who then waits for the answer."""
    pieces = list(body)
    sent: list[Any] = []

    async def receive() -> Any:
        if not pieces:
            await asyncio.Future()
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "scheme": "http",
        "headers": [(b"host", b"localhost"), *headers],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await application(scope, receive, send)
    return Answer(
        status=sent[0]["status"],
        headers=sent[0]["headers"],
        body=b"".join(message.get("body", b"") for message in sent[1:]),
        complete=not sent[-1].get("more_body"),
    )
