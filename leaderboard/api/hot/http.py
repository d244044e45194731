"""Requests and answers of the fast lane: bytes in, bytes out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import unquote_to_bytes

from leaderboard.api import answers
from leaderboard.api.callers import Caller
from leaderboard.api.errors import ApiError

# Marks a request whose path is still percent-encoded: a name in it holds a slash.
QUOTED = "rostrum.quoted_path"

Headers = list[tuple[bytes, bytes]]
# Reads the body, up to so many bytes. An operation calls it when it knows that the caller may.
Body = Callable[[int], Awaitable[bytes]]


async def no_body(largest: int) -> bytes:
    return b""


class Request:
    """What an operation looks at. `segments` are those of the raw path after /api/v1/boards/, so
    that an id may hold a slash."""

    __slots__ = (
        "_address",
        "caller",
        "charged",
        "headers",
        "method",
        "query",
        "segments",
        "target",
    )

    def __init__(
        self,
        method: str,
        segments: list[bytes],
        target: bytes,
        query: bytes,
        headers: dict[bytes, bytes],
        address: Callable[[], str],
    ) -> None:
        self.method = method
        self.segments = segments
        self.target = target  # path and query as sent: names a read
        self.query = query
        self.headers = headers
        self._address = address
        self.caller: Caller | None = None  # as soon as it is known
        self.charged = False  # its limits have been asked

    @property
    def address(self) -> str:
        """The client's; worked out only for those without a key."""
        return self._address()

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")


def decoded(segment: bytes, what: str) -> str:
    """A part of the path as text."""
    try:
        text = unquote_to_bytes(segment).decode() if b"%" in segment else segment.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # no name has one, and SQL does not take it
        raise ApiError(422, "invalid_value", f"The {what} in the address is not text.", field=what)
    return text


class Answer:
    """What goes back; the lane adds the headers that every answer has."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: Headers, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


def encoded_headers(headers: dict[str, str]) -> Headers:
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


def problem_answer(error: ApiError) -> Answer:
    status, headers, body = answers.problem(error)
    return Answer(status, encoded_headers(headers), body)
