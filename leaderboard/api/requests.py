"""What each operation that Ninja serves does first: who calls, within limits, which board."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from ninja.security import HttpBearer

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.access import aliases
from leaderboard.access.aliases import AnyEntry
from leaderboard.api import answers, callers, idempotency, limits, media
from leaderboard.api.callers import Caller
from leaderboard.api.errors import board_not_found
from leaderboard.api.hot.http import QUOTED, decoded
from leaderboard.api.queries import ViewQuery
from leaderboard.api.schemas import Head
from leaderboard.engine import RedisLeaderboard
from leaderboard.engine.windows import period_at
from leaderboard.models import Board
from leaderboard.seasons import pointer
from leaderboard.seasons.pointer import Pointer
from ratelimit import requests as limited_requests
from ratelimit.callers import client_ip

CALLER = "_api_caller"
ETAG = "_api_etag"


class BearerKey(HttpBearer):
    """`Authorization: Bearer rk_…`. Identifies, charges, and asks for the scope."""

    def __init__(self, scope: str) -> None:
        super().__init__()
        self.scope = scope

    def __call__(self, request: HttpRequest) -> Caller:
        header = request.headers.get("Authorization")
        caller = callers.identify(
            None if header is None else header.encode("latin-1", "replace"),
            client_ip(request),
        )
        decision = limits.charge(caller)
        limited_requests.decisions(request).append(decision)
        if not decision.allowed:
            raise limits.refusal(decision)
        callers.check(caller)
        if self.scope != callers.READ:
            callers.check_scope(caller, self.scope)
        media.check(request.content_type or "", request.headers.get("Content-Encoding", ""))
        setattr(request, CALLER, caller)
        return caller

    def authenticate(self, request: HttpRequest, token: str) -> Caller:
        raise NotImplementedError  # Ninja's own way of calling is not used


read = BearerKey(callers.READ)
submit = BearerKey(callers.SUBMIT)
moderate = BearerKey(callers.MODERATE)
admin = BearerKey(callers.ADMIN)


def caller_of(request: HttpRequest) -> Caller:
    caller: Caller = getattr(request, CALLER)
    return caller


def board_for(request: HttpRequest, slug: str, auth: BearerKey = read) -> Board:
    """The board, when this caller may do this with it."""
    board = Board.objects.at(slug).first()
    if board is None:
        raise board_not_found()
    callers.check_board(caller_of(request), board, auth.scope)
    return board


class NotModifiedError(Exception):
    """What the client has is still right."""

    def __init__(self, etag: str) -> None:
        super().__init__(etag)
        self.etag = etag


@dataclass(frozen=True)
class View:
    """The standings a request asks for, and what an answer says about them."""

    board: Board
    engine: RedisLeaderboard
    pointer: Pointer | None
    window: str
    sequence: int
    with_ids: bool = False  # the caller may know the ids of anonymous players

    def masked(self, entries: Iterable[AnyEntry]) -> list[AnyEntry]:
        """Entries as this caller may see them."""
        return aliases.masked_all(entries, with_id=self.with_ids)

    def player_id(self, name: str) -> str:
        """The id behind a name in a request, which may be an alias."""
        return name if self.with_ids else aliases.find(self.board, name) or name

    @property
    def head(self) -> Head:
        season = self.pointer.number if self.pointer else None
        return self.board.slug, season, self.window, self.sequence


def sequence_of(board: Board) -> int:
    """The sequence of the last change."""
    return keys.changed_at(*get_redis().mget(keys.sequence(board.key), keys.quiet(board.key)))


def view(request: HttpRequest, board: Board, query: ViewQuery, *further: Any) -> View:
    """Raises NotModifiedError when the client's copy is of the same sequence.

    `further` is what else an answer depends on.
    """
    sequence, running = sequence_of(board), pointer.read(board)
    engine = board.engine(running.number if running else 1)
    period = ""
    if query.window != "season":
        engine = engine.window(query.window, query.period)
        period = query.period or period_at(query.window, engine.now(), board.zone).name
    check_etag(request, board.version, period, running.number if running else 0, sequence, *further)
    with_ids = caller_of(request).knows_ids(board)
    return View(board, engine, running, query.window, sequence, with_ids)


def check_etag(request: HttpRequest, *parts: Any) -> None:
    """Give the answer an ETag of these parts; when the client has it already, say so."""
    tag = answers.etag(*[part for part in parts if part != ""])
    setattr(request, ETAG, tag)
    known = request.headers.get("If-None-Match")
    if known is not None and answers.matches(known, tag):
        raise NotModifiedError(tag)


# ---- names in the path ---------------------------------------------------------------------------


def named(request: HttpRequest, segment: str) -> str:
    """A name from the path. One with a slash arrives percent-encoded, see `FastLane`."""
    scope: dict[str, Any] = getattr(request, "scope", {})
    if not scope.get(QUOTED):
        return segment
    return decoded(segment.encode("latin-1"), "name")


# ---- idempotency ---------------------------------------------------------------------------------


def once(auth: BearerKey) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Honour Idempotency-Key: the first answer is kept for a day and given to every retry of a
    caller who may still do this with the board.

    Goes between Ninja's route and the operation, which must return a response.
    """

    def honouring(operation: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(operation)
        def honoured(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            key = request.headers.get("Idempotency-Key")
            if key is None:
                return operation(request, *args, **kwargs)
            board = board_for(request, kwargs["slug"], auth)
            record = _record(request, board, idempotency.checked(key))
            before = record.claim()
            if before is not None:
                response = HttpResponse(before.body, before.content_type, before.status)
                response["Idempotency-Replayed"] = "true"
                return response
            try:
                response = operation(request, *args, **kwargs)
            except BaseException:
                record.release()  # nothing was done: the same key may try again
                raise
            record.keep(response.status_code, response.headers["Content-Type"], response.content)
            return response

        return honoured

    return honouring


def _record(request: HttpRequest, board: Board, key: str) -> idempotency.Record:
    target = f"{request.method} {request.get_full_path()}\n".encode()
    fingerprint = hashlib.sha256(target + request.body).hexdigest()[:32]
    name = keys.request(board.key, f"{caller_of(request).name}:{key}")
    return idempotency.Record(name, fingerprint)


# ---- answers -------------------------------------------------------------------------------------


def shown(value: msgspec.Struct) -> HttpResponse:
    """The answer of a read."""
    return HttpResponse(answers.encode_json(value), content_type=answers.JSON_TYPE)


def done(value: msgspec.Struct) -> HttpResponse:
    """The answer of a write."""
    response = shown(value)
    response["Cache-Control"] = "no-store"
    return response
