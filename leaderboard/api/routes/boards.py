"""Boards, and who is there."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router

from leaderboard.access import rights
from leaderboard.access.listing import visible_boards
from leaderboard.api import callers, queries, schemas
from leaderboard.api.requests import board_for, caller_of, read, view
from leaderboard.models import Board, Player
from sessions_app import presence

router = Router(tags=["Boards"])

MOST_NAMED = 100


def described(board: Board) -> dict[str, Any]:
    """What a board is, without asking Redis."""
    return {
        "slug": board.slug,
        "name": board.name,
        "description": board.description,
        "visibility": board.visibility,
        "order": board.order,
        "operator": board.operator,
        "ties": board.ties,
        "ranking": board.ranking,
        "subscore": board.subscore_order or None,
        "max_entries": board.max_entries,
        "lowest_score": board.lowest_score,
        "highest_score": board.highest_score,
        "largest_step": board.largest_step,
        "first_step": board.first_step,
        "windows": board.windows,
        "groups": board.groups,
        "time_zone": board.time_zone,
        "unit": board.unit,
    }


@router.get(
    "/boards",
    operation_id="listBoards",
    response=schemas.BoardList,
    auth=read,
    summary="List boards",
)
def list_boards(request: HttpRequest) -> dict[str, Any]:
    """Public boards; with a key, also the private and unlisted boards that it may read."""
    caller = caller_of(request)
    found = {board.slug: board for board in visible_boards(None)}
    if callers.READ in caller.scopes:
        own = Board.objects.all()
        if caller.boards is not None:
            own = own.filter(pk__in=caller.boards)
        found |= {board.slug: board for board in own}
    return {"boards": [described(found[slug]) for slug in sorted(found)]}


@router.get(
    "/boards/{slug}",
    operation_id="getBoard",
    response=schemas.BoardNow,
    auth=read,
    summary="Show a board",
)
def show_board(request: HttpRequest, slug: str) -> dict[str, Any]:
    """Its rules, its season, its number of players and how many people are watching."""
    board = board_for(request, slug)
    online = presence.count(board.slug)
    now = view(request, board, queries.ViewQuery(), online)
    season = now.pointer and {
        "number": now.pointer.number,
        "state": now.pointer.state,
        "opens": now.pointer.opens_at,
        "closes": now.pointer.closes_at,
    }
    return {
        **described(board),
        "season": season,
        "size": now.engine.get_size(),
        "online": online,
        "sequence": now.sequence,
    }


@router.get(
    "/boards/{slug}/presence",
    operation_id="getPresence",
    response=schemas.Presence,
    auth=read,
    summary="List who is online",
)
def show_presence(request: HttpRequest, slug: str) -> dict[str, Any]:
    """How many people are watching the board, and which of its players are online, except
    players who are anonymous, opted out, hidden or banned."""
    board = board_for(request, slug)
    accounts = presence.online_ids(board.slug, limit=MOST_NAMED)
    shown = Player.objects.filter(account_id__in=accounts, privacy=Player.Privacy.SHOWN).exclude(
        pk__in=rights.unseen_on(board).values("pk")
    )
    return {
        "board": board.slug,
        "online": presence.count(board.slug),
        "players": list(shown.order_by("id").values_list("id", flat=True)),
    }
