"""Is this process alive, and can it serve? Answered on the event loop, however busy the threads."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

from django.db import connection

from config.redis.connections import get_async_redis
from config.sql import ask_sql

ALIVE = {"status": "ok"}
PATIENCE = 2.0  # seconds; whoever asks for longer gives up too
RETRY_AFTER = 5  # seconds; a restart of Redis takes about that long
METHODS = ("GET", "HEAD")


@dataclass(frozen=True)
class Readiness:
    """Each dependency: whether it answered, and how fast."""

    checks: dict[str, dict[str, Any]]

    @property
    def status(self) -> int:
        return 200 if all(check["status"] == "ok" for check in self.checks.values()) else 503

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.status == 200 else {"Retry-After": str(RETRY_AFTER)}

    def shown(self) -> dict[str, Any]:
        status = "ok" if self.status == 200 else "unavailable"
        return {"status": status, "checks": self.checks}


async def readiness() -> Readiness:
    redis, sql = await asyncio.gather(_timed(get_async_redis().ping()), _timed(ask_sql(_ask_sql)))
    return Readiness({"redis": redis, "sql": sql})


def _ask_sql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


async def _timed(answer: Awaitable[Any]) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        async with asyncio.timeout(PATIENCE):
            await answer
    except Exception as error:  # whatever it is, this dependency is not ready
        # The kind of error only: its text may hold addresses and names.
        return {"status": "failed", "reason": type(error).__name__}
    return {"status": "ok", "ms": round((time.perf_counter() - start) * 1000, 2)}


class Health:
    """ASGI middleware: `/healthz` and `/readyz` for every host and scheme, because probes know
    neither. However many ask at once, each dependency is asked once."""

    def __init__(self, application: Any) -> None:
        self.application = application
        self._asking: asyncio.Task[Readiness] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"] if scope["type"] == "http" and scope["method"] in METHODS else ""
        if path == "/healthz":
            await _answer(scope, send, 200, ALIVE, {})
        elif path == "/readyz":
            ready = await self._readiness()
            await _answer(scope, send, ready.status, ready.shown(), ready.headers)
        else:
            await self.application(scope, receive, send)

    async def _readiness(self) -> Readiness:
        if self._asking is None:
            self._asking = asyncio.ensure_future(readiness())
            self._asking.add_done_callback(self._forget)
        return await asyncio.shield(self._asking)

    def _forget(self, asking: asyncio.Task[Readiness]) -> None:
        self._asking = None


async def _answer(
    scope: Any, send: Any, status: int, value: dict[str, Any], headers: dict[str, str]
) -> None:
    body = json.dumps(value).encode()
    headers = headers | {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    encoded = [(name.lower().encode(), text.encode()) for name, text in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    body = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": body, "more_body": False})
