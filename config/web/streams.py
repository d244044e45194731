"""Long answers in pieces, under ASGI and WSGI alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

ENOUGH = 16 * 1024  # characters of one piece


def streamed(
    request: HttpRequest, pieces: Iterator[str], content_type: str, filename: str
) -> StreamingHttpResponse:
    """`pieces` as a download. Under ASGI Django would collect a plain iterator in memory."""
    content: Iterator[str] | AsyncIterator[str] = pieces
    if isinstance(request, ASGIRequest):
        content = _in_turn(pieces)
    return StreamingHttpResponse(
        content,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{filename}"'},
    )


async def _in_turn(pieces: Iterator[str]) -> AsyncIterator[str]:
    # In the request's own thread, with its database connection; also the end, when the reader left.
    take = sync_to_async(lambda: _gathered(pieces))
    try:
        while piece := await take():
            yield piece
    finally:
        if isinstance(pieces, Generator):
            await sync_to_async(pieces.close)()


def _gathered(pieces: Iterator[str]) -> str:
    """The next pieces as one: a hop between threads costs more than a row."""
    taken, length = [], 0
    while length < ENOUGH and (piece := next(pieces, None)) is not None:
        taken.append(piece)
        length += len(piece)
    return "".join(taken)
