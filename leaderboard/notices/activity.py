"""A board's activity feed: somebody joined or took the lead, a season ended.

The worker finds it in the events that it stores, so a score costs nothing more. The feed holds ids.
Names and texts are made when it is read, so that players who have since been renamed, hidden or
made anonymous appear as on the board itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from django.urls import reverse
from django.utils.translation import gettext

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.engine.functions import LIBRARY
from leaderboard.models import Board, Season
from leaderboard.notices.names import shown_names
from leaderboard.seasons.pointer import microseconds, moment

if TYPE_CHECKING:
    from leaderboard.log.events import Event

MOST_KEPT = 50
KEPT = 30 * 24 * 3600  # seconds after the last one
MOST_BOARDS = 1000  # of those that the feed of all boards reads

_add = LIBRARY["add_activity"]


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of the list. The same event makes the same bytes, so that it is added once."""

    kind: str  # joined, leader or season
    at: int  # microseconds
    season: int
    player: str = ""


_decode = msgspec.json.Decoder(Item).decode


@dataclass(frozen=True)
class Happening:
    """One item as a reader sees it."""

    at: datetime
    board: Board
    kind: str
    name: str  # of the player or the season
    url: str  # empty for anonymous players

    @property
    def text(self) -> str:
        if self.kind == "leader":
            return gettext("%(name)s took the lead.") % {"name": self.name}
        if self.kind == "joined":
            return gettext("%(name)s joined.") % {"name": self.name}
        return gettext("%(season)s has ended.") % {"season": self.name}


def note(board: Board, events: Sequence[Event]) -> None:
    """Add what these events of the log mean to the board's feed."""
    items = [item for event in events for item in _items(event)]
    # A whole class may join in one batch; send no more than are kept.
    _add_items(board, items[-MOST_KEPT:])


def season_ended(season: Season) -> None:
    """Add that a season is over; a second call changes nothing."""
    ended = season.closed_at or season.closes
    if ended is not None:
        _add_items(season.board, [Item("season", microseconds(ended), season.number)])


def latest(board: Board, count: int) -> list[Happening]:
    """The newest first, of players that the board shows now."""
    raw = get_redis().lrange(keys.feed(board.key), 0, MOST_KEPT - 1)
    return _shown(board, _decoded(raw))[:count]


def latest_everywhere(count: int) -> list[Happening]:
    """The newest of all boards; for staff who may see every board."""
    boards = list(Board.objects.order_by("-pk")[:MOST_BOARDS])
    pipe = get_redis().pipeline(transaction=False)
    for board in boards:
        pipe.lrange(keys.feed(board.key), 0, count - 1)
    found = [
        (item, board)
        for board, raw in zip(boards, pipe.execute(), strict=True)
        for item in _decoded(raw)
    ]
    found.sort(key=lambda one: one[0].at, reverse=True)
    newest = found[:count]
    happenings = [
        happening
        for board in {board.pk: board for _, board in newest}.values()
        for happening in _shown(board, [item for item, where in newest if where is board])
    ]
    return sorted(happenings, key=lambda happening: happening.at, reverse=True)


def forget_player(board: Board, player_id: str) -> None:
    """Delete this player's items from the feed."""
    client, feed = get_redis(), keys.feed(board.key)
    for raw in client.lrange(feed, 0, MOST_KEPT - 1):
        if _decode(raw).player == player_id:
            client.lrem(feed, 0, raw)


def _items(event: Event) -> Iterable[Item]:
    news = event.news
    if news.op != "score" or news.rank is None or not news.id:
        return
    if news.previous_rank is None:
        yield Item("joined", news.at, news.season or 0, news.id)
    if news.rank == 1 and news.previous_rank != 1:
        yield Item("leader", news.at, news.season or 0, news.id)


def _add_items(board: Board, items: Sequence[Item]) -> None:
    if items:
        _add(
            get_redis(),
            [keys.feed(board.key)],
            [
                MOST_KEPT,
                KEPT,
                keys.feed_live(board.slug),
                board.slug,
                *(msgspec.json.encode(item) for item in items),
            ],
        )


def _decoded(raw: Iterable[bytes]) -> list[Item]:
    return [_decode(one) for one in raw]


def _shown(board: Board, items: Sequence[Item]) -> list[Happening]:
    """As the public may see them, in the same order."""
    names = shown_names(board, {item.player for item in items if item.player})
    numbers = {item.season for item in items if not item.player}
    titles = {}
    if numbers:
        seasons = Season.objects.filter(board=board, number__in=numbers)
        titles = {season.number: season.title for season in seasons}
    found = []
    for item in items:
        if item.player in names:
            found.append(_happening(board, item, names[item.player]))
        elif not item.player and item.season in titles:
            found.append(_happening(board, item, titles[item.season]))
    return found


def _happening(board: Board, item: Item, name: str) -> Happening:
    if not item.player:
        url = reverse("season", args=[board.slug, item.season])
    elif name:
        url = reverse("player", args=[board.slug, item.player])
    else:
        url, name = "", gettext("Anonymous")
    return Happening(moment(item.at), board, item.kind, name, url)
