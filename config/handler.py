"""Django behind ASGI with one thread hop per request, on threads that are used again.

Django's own ASGI handler starts two threads for every request and hops between them and the loop
for each signal, middleware and view that is not a coroutine. Our pages are synchronous throughout
(live streams and hot API calls never come here), so the whole request runs in one thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

# Requests at once and per process; each thread keeps its own database connection.
THREADS = 32


class ThreadedASGIHandler(ASGIHandler):
    """Serves HTTP with Django's synchronous stack, each request in one thread of a small crowd.

    The thread that was last given back is taken first: it is the warmest, and after a burst the
    others stay idle. Coroutine views still work, on the server's own loop.
    """

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware(is_async=False)
        self._idle: list[ThreadPoolExecutor] = []
        self._places = asyncio.Semaphore(THREADS)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise ValueError(f"Rostrum serves HTTP, not {scope['type']}.")
        try:
            body_file = await self.read_body(receive)
        except RequestAborted:
            return
        with body_file:
            async with self._places:
                executor = self._idle.pop() if self._idle else _new_thread()
                try:
                    async with ThreadSensitiveContext(executor=executor):
                        messages = await self._serve(scope, body_file, send)
                finally:
                    self._idle.append(executor)
        # Whoever reads slowly holds no place and no thread.
        for message in messages:
            await send(message)

    async def _serve(self, scope: Any, body_file: Any, send: Any) -> list[dict[str, Any]]:
        """What is still to be sent; a stream is sent here, because it needs its thread."""
        response, messages = await sync_to_async(self._respond)(scope, body_file)
        if not response.streaming:
            return messages
        try:
            for message in messages:
                await send(message)
            await self._stream(response, send)
        finally:
            await sync_to_async(response.close)()
        return []

    def _respond(self, scope: Any, body_file: Any) -> tuple[Any, list[dict[str, Any]]]:
        """In the thread: the whole request, and what is to be sent. Only a stream stays open."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, error_response = self.create_request(scope, body_file)
        response: Any = error_response if request is None else self.get_response(request)
        messages: list[dict[str, Any]] = [
            {
                "type": "http.response.start",
                "status": response.status_code,
                "headers": _headers(response),
            }
        ]
        if not response.streaming:
            messages.append({"type": "http.response.body", "body": response.content})
            response.close()
        return response, messages

    async def _stream(self, response: Any, send: Any) -> None:
        if response.is_async:
            async for chunk in response:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        else:
            chunks: Iterator[bytes] = iter(response)
            while (chunk := await sync_to_async(_next)(chunks)) is not None:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def _next(chunks: Iterator[bytes]) -> bytes | None:
    return next(chunks, None)


def _new_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="django")


def _headers(response: HttpResponseBase) -> list[tuple[bytes, bytes]]:
    headers = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
    cookies = [
        (b"set-cookie", cookie.output(header="").strip().encode("ascii"))
        for cookie in response.cookies.values()
    ]
    return headers + cookies
