"""The operations that the fast lane serves. Ninja documents them and, where no lane runs before
Django, calls the same functions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, get_origin
from urllib.parse import parse_qsl

from django.conf import settings
from ninja import Schema
from pydantic import ValidationError

from leaderboard.access import aliases
from leaderboard.api import answers, callers, cursors, idempotency, limits, media
from leaderboard.api.callers import Caller
from leaderboard.api.errors import too_many_parameters
from leaderboard.api.hot import bodies, scores
from leaderboard.api.hot.boards import board_cache
from leaderboard.api.hot.http import Answer, Body, Headers, Request, decoded
from leaderboard.api.hot.reads import Kept, Read, Reads
from leaderboard.api.hot.scores import Item, Once, Submissions
from leaderboard.api.queries import AroundQuery, BulkQuery, NoQuery, PageQuery, PlayerQuery
from leaderboard.api.schemas import EntryPage, Head, PlayerOut, RowRefused
from leaderboard.api.validation import invalid_query
from leaderboard.engine import pages
from leaderboard.engine.pages import Run
from leaderboard.engine.positions import Position
from leaderboard.models import Board

Q = TypeVar("Q", bound=Schema)

JSON: tuple[bytes, bytes] = (b"content-type", b"application/json")
NO_STORE: tuple[bytes, bytes] = (b"cache-control", b"no-store")
# Whoever keeps it must ask whether it still holds; with the ETag that costs nearly nothing.
REVALIDATE: tuple[bytes, bytes] = (b"cache-control", b"private, no-cache")
VARY: tuple[bytes, bytes] = (b"vary", b"Accept-Encoding, Authorization")


KEYED = b" key"  # no address holds a blank


class Lane:
    """What belongs to one event loop: boards, reads, and the submissions to each board, which do
    not wait for those to others."""

    def __init__(self) -> None:
        self.boards = board_cache()
        self.reads = Reads()
        self.bulk = asyncio.Semaphore(scores.CONCURRENCY)
        self._submissions: dict[str, Submissions] = {}

    def submit(self, board: Board, item: Item) -> asyncio.Future[Any]:
        submissions = self._submissions.get(board.slug)
        if submissions is None:
            submissions = self._submissions[board.slug] = Submissions()
        return submissions.add(board, item)


async def admitted(lane: Lane, request: Request, scope: str) -> tuple[Caller, Board]:
    """The caller and the board, when the one may do this with the other."""
    caller = callers.keyring.remembered(request.headers.get(b"authorization", b""))
    if caller is None:
        caller = await callers.aidentify(request.headers.get(b"authorization"), request.address)
    request.caller = caller
    callers.check(caller)
    if scope != callers.READ:
        callers.check_scope(caller, scope)
    slug = decoded(request.segments[0], "board")
    board = lane.boards.fresh(slug) or await lane.boards.get(slug)
    callers.check_board(caller, board, scope)
    return caller, board


# ---- writes --------------------------------------------------------------------------------------


async def submit_score(lane: Lane, request: Request, read_body: Body) -> Answer:
    caller, board = await admitted(lane, request, callers.SUBMIT)
    _check_request(request, caller)
    read_query(NoQuery, request)
    body = await read_body(bodies.LARGEST_ROW)
    once = _once(request, caller, body)
    score = bodies.read_score(body)
    submission = score.submission(once.key if once else None, caller.source)
    request.charged = True
    limit_headers, result = await lane.submit(board, Item(caller, submission, once))
    return _written(result, limit_headers, replayed=result.replayed)


async def submit_scores(lane: Lane, request: Request, read_body: Body) -> Answer:
    caller, board = await admitted(lane, request, callers.SUBMIT)
    _check_request(request, caller)
    query = read_query(BulkQuery, request)
    # The first hundred rows are paid for before anything of them is read.
    request.charged = True
    paid = await limits.acharge(caller)
    if not paid.allowed:
        raise limits.refusal(paid)
    body = await read_body(settings.LARGEST_BODY)
    once = _once(request, caller, body)
    kind = request.header(b"content-type")
    rows = bodies.read_rows(body, lines="ndjson" in kind or "jsonl" in kind)
    # A thousand rows keep Redis busy for many milliseconds. Those of one process queue here and
    # not there, where they would hold up everybody else.
    async with lane.bulk:
        limit_headers, answer, replayed = await scores.submit_rows(
            board, caller, rows, once, paid, all_or_nothing=query.atomic
        )
    if query.report == "errors":
        answer.results = [one for one in answer.results if isinstance(one, RowRefused)]
    return _written(answer, limit_headers, replayed=replayed)


def _check_request(request: Request, caller: Caller) -> None:
    """Refuse what needs no look at the body."""
    denied = limits.known_refusal(caller)
    if denied is not None:
        request.charged = True
        raise limits.refusal(denied)
    media.check(request.header(b"content-type"), request.header(b"content-encoding"))


def _once(request: Request, caller: Caller, body: bytes) -> Once | None:
    key = request.headers.get(b"idempotency-key")
    if key is None:
        return None
    return Once.of(caller, idempotency.checked(key.decode("latin-1")), request.target, body)


def _written(value: Any, limit_headers: Headers, *, replayed: bool) -> Answer:
    headers = [JSON, NO_STORE, *limit_headers]
    if replayed:
        headers.append((b"idempotency-replayed", b"true"))
    return Answer(200, headers, answers.encode_json(value))


# ---- reads ---------------------------------------------------------------------------------------


async def read_entries(lane: Lane, request: Request) -> Answer:
    return await _read(lane, request, _plan_entries, _named_in_cursor)


def _named_in_cursor(request: Request, board: Board) -> str:
    text = read_query(PageQuery, request).cursor
    return "" if text is None else cursors.read(text, board.slug).user_id


def _plan_entries(request: Request, board: Board, player: str) -> Read:
    query = read_query(PageQuery, request)
    start: int | Position = query.offset
    if query.cursor:
        start = cursors.read(query.cursor, board.slug)._replace(user_id=player)
    wanted = pages.page(start, query.limit)
    return Read(request.target, board, query.window, query.period, wanted, _entries)


async def read_around(lane: Lane, request: Request) -> Answer:
    return await _read(lane, request, _plan_around, _named_in_address(3))


def _plan_around(request: Request, board: Board, player: str) -> Read:
    query = read_query(AroundQuery, request)
    wanted = pages.around(player, query.count)
    return Read(request.target, board, query.window, query.period, wanted, _entries)


def _entries(head: Head, run: Run) -> EntryPage:
    return EntryPage(*head, run.size, run.entries or [])


async def read_player(lane: Lane, request: Request) -> Answer:
    return await _read(lane, request, _plan_player, _named_in_address(2))


def _plan_player(request: Request, board: Board, player: str) -> Read:
    query = read_query(PlayerQuery, request)

    def build(head: Head, run: Run) -> PlayerOut:
        entries = run.entries or []
        return PlayerOut(
            *head,
            run.size,
            100.0 * (run.size - run.matching) / run.size,
            next(entry for entry in entries if entry.player_id == player),
            entries if query.neighbours else [],
        )

    wanted = pages.player(player, 2 * query.neighbours + 1)
    return Read(request.target, board, query.window, query.period, wanted, build)


Plan = Callable[[Request, Board, str], Read]
Named = Callable[[Request, Board], str]


@cache
def _named_in_address(segment: int) -> Named:
    return lambda request, board: decoded(request.segments[segment], "player")


async def _read(lane: Lane, request: Request, make_plan: Plan, named: Named) -> Answer:
    """`named` finds the player that the request names, '' for none."""
    caller, board = await admitted(lane, request, callers.READ)
    with_ids = caller.knows_ids(board)
    # Two answers at one address: other callers see less of anonymous players.
    target = request.target + KEYED if with_ids else request.target
    read = lane.reads.plan(target, board)
    is_new = False
    if read is None:
        player = named(request, board)
        found = None if with_ids else await aliases.afind(board, player)
        read = make_plan(request, board, found or player)
        read = read._replace(target=target, with_ids=with_ids, by_alias=found is not None)
        is_new = found is None  # an alias may end at any time, and is looked up each time
    request.charged = True
    limit_headers, kept = await lane.reads.add(caller, read)
    if is_new:  # only what was paid for is remembered
        lane.reads.remember(read)
    headers: Headers = [REVALIDATE, VARY, (b"etag", kept.tag), *limit_headers]
    wanted = request.headers.get(b"if-none-match")
    if wanted is not None and answers.matches(wanted.decode("latin-1"), kept.tag.decode()):
        return Answer(304, headers, b"")
    headers.append(JSON)
    return Answer(200, headers, _smaller(request, headers, kept))


def _smaller(request: Request, headers: Headers, kept: Kept) -> bytes:
    if len(kept.body) < answers.WORTH_COMPRESSING:
        return kept.body
    encoding = answers.chosen_encoding(request.header(b"accept-encoding"))
    if not encoding:
        return kept.body
    headers.append((b"content-encoding", encoding.encode()))
    return kept.compressed(encoding)


@cache
def _defaults(schema: type[Schema]) -> Any:
    return schema()


@cache
def _lists(schema: type[Schema]) -> frozenset[str]:
    """The parameters that may be repeated."""
    fields = schema.model_fields.items()
    return frozenset(name for name, field in fields if get_origin(field.annotation) is list)


def read_query(schema: type[Q], request: Request) -> Q:
    if not request.query:
        defaults: Q = _defaults(schema)
        return defaults
    if request.query.count(b"&") >= settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:  # as Django counts
        raise too_many_parameters()
    pairs = parse_qsl(request.query.decode("latin-1"), keep_blank_values=True)
    values: dict[str, Any] = dict(pairs)
    for name in _lists(schema) & values.keys():
        values[name] = [value for key, value in pairs if key == name]
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        raise invalid_query(error.errors()) from None
