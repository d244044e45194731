"""Entries of a board: pages, neighbours, ranges, groups, the distribution."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import Field

from leaderboard.access import aliases
from leaderboard.api import cursors, queries, schemas
from leaderboard.api.errors import ApiError
from leaderboard.api.requests import View, board_for, named, read, shown, view
from leaderboard.engine.positions import Position
from leaderboard.entries import Entry

router = Router(tags=["Entries"])


def page(
    now: View, found: list[dict[str, Any]], total: int, following: Position | None = None
) -> HttpResponse:
    entries = now.masked(map(Entry.of, found))
    if following is not None and following.user_id:
        following = following._replace(user_id=entries[-1].player_id)
    cursor = None if following is None else cursors.written(following, now.board.slug)
    return shown(schemas.EntryPage(*now.head, total, entries, cursor))


def start_of(now: View, query: queries.PageQuery | queries.RangeQuery) -> int | Position:
    """Where the page begins."""
    if query.cursor is None:
        return query.offset
    after = cursors.read(query.cursor, now.board.slug)
    return after._replace(user_id=now.player_id(after.user_id))


@router.get(
    "/boards/{slug}/entries",
    operation_id="listEntries",
    openapi_extra=schemas.ENTRY_PAGE,
    auth=read,
    summary="List entries by page",
)
def list_entries(request: HttpRequest, slug: str, query: Query[queries.PageQuery]) -> None:
    """From the top, or from `offset`. Follow `next` until it is null to read all entries: each
    page continues after the last entry of the page before, even if entries have moved meanwhile."""


@router.get(
    "/boards/{slug}/entries/around/{player}",
    operation_id="listEntriesAroundPlayer",
    openapi_extra=schemas.ENTRY_PAGE,
    auth=read,
    summary="List entries around a player",
)
def entries_around_player(
    request: HttpRequest, slug: str, player: str, query: Query[queries.AroundQuery]
) -> None:
    """The player is in the middle, except near the ends of the board."""


@router.get(
    "/boards/{slug}/entries/around-rank/{rank}",
    operation_id="listEntriesAroundRank",
    openapi_extra=schemas.ENTRY_PAGE,
    auth=read,
    summary="List entries around a rank",
)
def entries_around_rank(
    request: HttpRequest,
    slug: str,
    rank: Annotated[int, Field(ge=1, le=2**53)],
    query: Query[queries.AroundQuery],
) -> HttpResponse:
    """Always `count` entries if the board has that many."""
    now = view(request, board_for(request, slug), query)
    return page(now, now.engine.get_around_rank(rank, query.count), now.engine.get_size())


@router.get(
    "/boards/{slug}/entries/range",
    operation_id="listEntriesInRange",
    openapi_extra=schemas.ENTRY_PAGE,
    auth=read,
    summary="List entries by score",
)
def entries_in_range(
    request: HttpRequest, slug: str, query: Query[queries.RangeQuery]
) -> HttpResponse:
    """Scores from `low` to `high`, both included. `total` is their number, not that of the whole
    board."""
    now = view(request, board_for(request, slug), query)
    found = now.engine.get_range_page(
        query.low, query.high, offset=start_of(now, query), count=query.limit
    )
    return page(now, found["entries"], found["size"], found["next"])


@router.post(
    "/boards/{slug}/entries/among",
    operation_id="listEntriesAmong",
    openapi_extra=schemas.AMONG,
    auth=read,
    summary="Rank given players among themselves",
)
def entries_among(
    request: HttpRequest, slug: str, body: queries.AmongIn, query: Query[queries.ViewQuery]
) -> HttpResponse:
    """A leaderboard of friends: the players ranked among themselves, each with the rank on the
    whole board."""
    board = board_for(request, slug)
    # One address for every set of players: the ETag says which were asked for.
    asked = hashlib.sha256("\n".join(body.players).encode()).hexdigest()[:16]
    now = view(request, board, query, asked)
    names = {name: now.player_id(name) for name in body.players}
    found = now.engine.get_entries(list(names.values()))["entries"]
    ranked = [schemas.AmongEntry.of(one, board_rank=one["board_rank"]) for one in found]
    entries = now.masked(ranked) if now.with_ids else aliases.masked_some(ranked, names)
    there = {one.player_id for one in entries}
    missing = [name for name in names if name not in there]
    return shown(schemas.Among(*now.head, entries, missing))


@router.get(
    "/boards/{slug}/groups/{field}/{value}/entries",
    operation_id="listEntriesOfGroup",
    openapi_extra=schemas.ENTRY_PAGE,
    auth=read,
    summary="List entries of one group",
)
def entries_of_group(
    request: HttpRequest, slug: str, field: str, value: str, query: Query[queries.PageQuery]
) -> HttpResponse:
    """The players of one country or team, ranked among themselves."""
    board = board_for(request, slug)
    field, value = named(request, field), named(request, value)
    if field not in board.groups:
        raise ApiError(404, "unknown_group", "This board is not grouped by that.", field="field")
    now = view(request, board, query)
    found = now.engine.get_group(field, value, offset=start_of(now, query), count=query.limit)
    return page(now, found["entries"], found["size"], found["next"])


@router.get(
    "/boards/{slug}/distribution",
    operation_id="getDistribution",
    openapi_extra=schemas.DISTRIBUTION,
    auth=read,
    summary="Show the distribution of scores",
)
def distribution(
    request: HttpRequest, slug: str, query: Query[queries.DistributionQuery]
) -> HttpResponse:
    """How many entries fall into each of `bins` equal steps between lowest and highest score."""
    now = view(request, board_for(request, slug), query)
    bins = [schemas.Bin(**one) for one in now.engine.get_distribution(query.bins)]
    return shown(schemas.Distribution(*now.head, bins))
