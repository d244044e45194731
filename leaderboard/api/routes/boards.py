"""Boards, and who is there."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from config.times import utc_text
from leaderboard.access import rights
from leaderboard.access.listing import visible_boards
from leaderboard.api import callers, queries, schemas
from leaderboard.api.requests import board_for, caller_of, read, shown, view
from leaderboard.models import Board, Player
from sessions_app import presence

router = Router(tags=["Boards"])

MOST_NAMED = 100


def described(board: Board) -> dict[str, Any]:
    """The fields of a `BoardOut`, without asking Redis."""
    fields = {name: getattr(board, name, None) for name in schemas.BoardOut.__struct_fields__}
    return fields | {"subscore": board.subscore_order or None}


@router.get(
    "/boards",
    operation_id="listBoards",
    auth=read,
    summary="List boards",
    openapi_extra=schemas.BOARDS,
)
def list_boards(request: HttpRequest) -> HttpResponse:
    """Public boards; with a key, also the private and unlisted boards that it may read."""
    caller = caller_of(request)
    found = {board.slug: board for board in visible_boards(None)}
    if callers.READ in caller.scopes:
        own = Board.objects.all()
        if caller.boards is not None:
            own = own.filter(pk__in=caller.boards)
        found |= {board.slug: board for board in own}
    listed = [schemas.BoardOut(**described(found[slug])) for slug in sorted(found)]
    return shown(schemas.BoardList(listed))


@router.get(
    "/boards/{slug}",
    operation_id="getBoard",
    auth=read,
    summary="Show a board",
    openapi_extra=schemas.BOARD,
)
def show_board(request: HttpRequest, slug: str) -> HttpResponse:
    """Its rules, its season, its number of players and how many people are watching."""
    board = board_for(request, slug)
    online = presence.count(board.slug)
    now = view(request, board, queries.ViewQuery(), online)
    season = None
    if now.pointer is not None:
        opens, closes = now.pointer.opens_at, now.pointer.closes_at
        season = schemas.SeasonNow(
            now.pointer.number,
            now.pointer.state,
            utc_text(opens),
            utc_text(closes) if closes else None,
        )
    return shown(
        schemas.BoardNow(
            **described(board),
            season=season,
            size=now.engine.get_size(),
            online=online,
            sequence=now.sequence,
        )
    )


@router.get(
    "/boards/{slug}/presence",
    operation_id="getPresence",
    auth=read,
    summary="List who is online",
    openapi_extra=schemas.PRESENCE,
)
def show_presence(request: HttpRequest, slug: str) -> HttpResponse:
    """How many people are watching the board, and which of its players are online, except
    players who are anonymous, opted out, hidden or banned."""
    board = board_for(request, slug)
    accounts = presence.online_ids(board.slug, limit=MOST_NAMED)
    seen = Player.objects.filter(account_id__in=accounts, privacy=Player.Privacy.SHOWN).exclude(
        pk__in=rights.unseen_on(board).values("pk")
    )
    players = list(seen.order_by("id").values_list("id", flat=True))
    return shown(schemas.Presence(board.slug, presence.count(board.slug), players))
