"""Whether this process is alive and can serve. Runs on the event loop, however busy the threads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

from django.db import connection

from config.redis.connections import get_async_redis
from config.sql import ask_sql
from config.web.sending import send_json

ALIVE = {"status": "ok"}
PATIENCE = 2.0  # seconds; probes do not wait longer either
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
    neither. Concurrent probes share one check of each dependency."""

    def __init__(self, application: Any) -> None:
        self.application = application
        self._checking: asyncio.Task[Readiness] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        method = scope["method"] if scope["type"] == "http" else ""
        path = scope["path"] if method in METHODS else ""
        with_body = method == "GET"
        if path == "/healthz":
            await send_json(send, 200, ALIVE, {}, with_body=with_body)
        elif path == "/readyz":
            ready = await self._readiness()
            await send_json(send, ready.status, ready.shown(), ready.headers, with_body=with_body)
        else:
            await self.application(scope, receive, send)

    async def _readiness(self) -> Readiness:
        if self._checking is None or self._checking.done():
            self._checking = asyncio.ensure_future(readiness())
        return await asyncio.shield(self._checking)
