"""Long answers in pieces, under ASGI and WSGI alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse


def streamed(
    request: HttpRequest, pieces: Iterator[str], content_type: str, filename: str
) -> StreamingHttpResponse:
    """`pieces` as a download. Django would gather a plain iterator in memory under ASGI."""
    content: Iterator[str] | AsyncIterator[str] = pieces
    if isinstance(request, ASGIRequest):
        content = _in_turn(pieces)
    return StreamingHttpResponse(
        content,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{filename}"'},
    )


async def _in_turn(pieces: Iterator[str]) -> AsyncIterator[str]:
    # In the request's own thread, with its database connection.
    take = sync_to_async(lambda: next(pieces, None))
    while (piece := await take()) is not None:
        yield piece
