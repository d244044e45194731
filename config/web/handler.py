"""Django behind ASGI with one thread hop per request, on threads that are used again.

Django's own ASGI handler starts two threads for every request and hops between them and the loop
for each signal, middleware and view that is not a coroutine. Our pages are synchronous throughout
(live streams and hot API calls never come here), so the whole request runs in one thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from weakref import WeakValueDictionary

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix
from django.utils.translation import gettext

from config.web.access_log import BODY_TOO_LARGE, CLIENT, NO_ROOM
from config.web.bodies import BodyTooLargeError, ClientGoneError, NoRoomError, Room
from config.web.errors import error_response
from config.web.sending import PIECE, StalledError, send_body, send_piece

# Requests at once and per process; each thread keeps its own database connection.
THREADS = 32
# One request of an address at a time; its others wait. Python renders one page at a time in any
# case, and each further thread makes the event loop, and with it every score, wait longer for its
# turn: under attack from one address, scores were nine times as slow with three threads as without,
# and three times with one. A request that takes longer than a turn is waiting for something else,
# and lets the next one of its address begin, up to `PER_CLIENT`.
TURN = 0.5  # seconds
PER_CLIENT = 3
# Of these, for downloads that are written while they are sent.
DOWNLOADS = 4


@dataclass
class _Answer:
    """The start of a response, and then a body, with the rest of a file after it, or a stream."""

    start: dict[str, Any]
    body: bytes = b""
    file: Any = None
    stream: Any = None


class _Client:
    """The requests of one address."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(PER_CLIENT)
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        async with self._places:
            await self._turn.acquire()
            has_turn = True

            def end_turn() -> None:
                nonlocal has_turn
                if has_turn:
                    has_turn = False
                    self._turn.release()

            timer = asyncio.get_running_loop().call_later(TURN, end_turn)
            try:
                yield
            finally:
                timer.cancel()
                end_turn()


class ThreadedASGIHandler(ASGIHandler):
    """Serves HTTP with Django's synchronous stack, each request in one thread of a small pool.

    The thread that was last given back is used first: its caches are warm, and after a burst the
    others stay idle. Coroutine views still work, on the server's own loop.
    """

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware(is_async=False)
        self._idle: list[ThreadPoolExecutor] = []
        self._places = asyncio.Semaphore(THREADS)
        self._downloads = asyncio.Semaphore(DOWNLOADS)
        self._clients: WeakValueDictionary[str, _Client] = WeakValueDictionary()
        self._room = Room(32 * 1024 * 1024)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise ValueError(f"Rostrum serves HTTP, not {scope['type']}.")
        try:
            body_file = await self._read(scope, receive)
        except (ClientGoneError, RequestAborted):
            return
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            async with AsyncExitStack() as thread:
                with self._room.holding(body_file.getbuffer().nbytes):
                    async with self._client(scope).turn():
                        executor = await thread.enter_async_context(self._place())
                        if gone.done():  # while it waited for its turn
                            return
                        await thread.enter_async_context(ThreadSensitiveContext(executor=executor))
                        answer = await sync_to_async(self._respond)(scope, body_file)
                if answer.stream is not None:
                    async with self._downloads:  # needs its thread until the end
                        await self._stream(answer, send, gone)
                    return
            # A slow reader holds no place and no thread.
            await send(answer.start)
            if answer.file is not None:
                await _send_file(answer, send)
            else:
                await send_body(send, answer.body)
        except StalledError:
            return
        finally:
            gone.cancel()

    async def _read(self, scope: Any, receive: Any) -> BytesIO:
        """The body; one that cannot be accepted is marked, and refused by a page of the product."""
        try:
            return BytesIO(await self._room.read(receive, settings.DATA_UPLOAD_MAX_MEMORY_SIZE))
        except BodyTooLargeError:
            scope[BODY_TOO_LARGE] = True
        except NoRoomError:
            scope[NO_ROOM] = True
        return BytesIO()

    def _client(self, scope: Any) -> _Client:
        address = scope.get(CLIENT) or (scope.get("client") or ("",))[0]
        client = self._clients.get(address)
        if client is None:
            client = self._clients[address] = _Client()
        return client

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[ThreadPoolExecutor]:
        async with self._places:
            executor = self._idle.pop() if self._idle else ThreadPoolExecutor(1, "django")
            try:
                yield executor
            finally:
                self._idle.append(executor)

    def _respond(self, scope: Any, body_file: Any) -> _Answer:
        """In the thread: the whole request. Only a stream stays open."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refused = self.create_request(scope, body_file)
        response: Any = refused if request is None else self.get_response(request)
        stream = response.streaming and not isinstance(response, FileResponse)
        if stream and request is not None and self._downloads.locked():
            response.close()
            response, stream = _too_many_downloads(request), False
        start = {
            "type": "http.response.start",
            "status": response.status_code,
            "headers": _headers(response),
        }
        if stream:
            return _Answer(start, stream=response)
        if not response.streaming:
            answer = _Answer(start, body=response.content)
        else:
            answer = _file_answer(start, response)
        response.close()
        return answer

    async def _stream(self, answer: _Answer, send: Any, gone: asyncio.Future[None]) -> None:
        """Piece by piece, no faster than the client reads."""
        response = answer.stream
        pieces = response.__aiter__() if response.is_async else _pulled(iter(response))
        try:
            await send(answer.start)
            async for piece in pieces:
                if gone.done():
                    return
                await send_piece(send, piece, more=True)
            await send_piece(send, b"", more=False)
        finally:
            if hasattr(pieces, "aclose"):
                await pieces.aclose()
            await sync_to_async(response.close)()


def _too_many_downloads(request: HttpRequest) -> Any:
    return error_response(
        request,
        503,
        "busy",
        gettext("Too many downloads are running. Try again in a moment."),
        headers={"Retry-After": "5", "Cache-Control": "no-store"},
    )


def _file_answer(start: dict[str, Any], response: FileResponse) -> _Answer:
    """A small file is read here. A large one is detached from its response, so that sending it
    holds neither this thread nor a place."""
    file = response.file_to_stream
    if file is None:
        return _Answer(start, body=b"".join(response))
    first = file.read(PIECE)
    if len(first) < PIECE:
        return _Answer(start, body=first)
    closers: list[Any] = response._resource_closers  # type: ignore[attr-defined]
    closers[:] = [close for close in closers if getattr(close, "__self__", None) is not file]
    return _Answer(start, body=first, file=file)


async def _send_file(answer: _Answer, send: Any) -> None:
    piece = answer.body
    try:
        while piece:
            await send_piece(send, piece, more=True)
            piece = await asyncio.to_thread(answer.file.read, PIECE)
        await send_piece(send, b"", more=False)
    finally:
        answer.file.close()


async def _pulled(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (chunk := await sync_to_async(lambda: next(chunks, None))()) is not None:
        yield chunk


async def _until_gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _headers(response: HttpResponseBase) -> list[tuple[bytes, bytes]]:
    headers = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
    cookies = [
        (b"set-cookie", cookie.output(header="").strip().encode("ascii"))
        for cookie in response.cookies.values()
    ]
    return headers + cookies
