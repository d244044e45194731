"""Notices to players with an account: somebody overtook you, a season has ended.

Each is kept for 30 days in the player's own stream and published to open pages in the same call.
They hold ids. Names and texts are made when they are read, in the reader's language, so that a
player who has since become anonymous or hidden is not named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import msgspec
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext

from config.redis.calls import Call, Steps
from config.redis.connections import aperform, get_redis, perform
from config.sql import ask_sql
from leaderboard import keys
from leaderboard.access import rights
from leaderboard.engine.functions import LIBRARY
from leaderboard.log.order import stream_order
from leaderboard.models import Board, FinalStanding, Season
from leaderboard.models.season import season_title
from leaderboard.notices.names import shown_names
from leaderboard.presentation import number_text
from leaderboard.seasons.pointer import moment

KEPT = 30 * 24 * 3600
MOST_KEPT = 200
MOST_UNREAD = 99
# Being overtaken ten times in a minute is one piece of news.
OVERTAKEN_AGAIN_AFTER = 60
SEASON_AGAIN_AFTER = 24 * 3600

_add = LIBRARY["add_notice"]
_count = LIBRARY["count_notices"]


@dataclass(frozen=True)
class Notice:
    id: str
    at: datetime
    kind: str
    board_slug: str
    board_name: str
    data: dict[str, Any]
    unread: bool

    @property
    def text(self) -> str:
        data = self.data
        values = data | {"board": self.board_name, "rank": number_text(data["rank"])}
        if self.kind == "overtaken":
            return (
                gettext("%(by)s overtook you on %(board)s. You are now at rank %(rank)s.") % values
            )
        values["season"] = season_title(data["season"], data.get("period", ""), data["number"])
        return gettext("%(season)s of %(board)s has ended. You finished at rank %(rank)s.") % values

    @property
    def url(self) -> str:
        if self.kind == "overtaken":
            return reverse("board", args=[self.board_slug])
        return reverse("season", args=[self.board_slug, self.data["number"]])


def overtaken(board: Board, player_id: str, *, by: str, rank: int) -> None:
    """`by` is the id of the player who is now ahead, `rank` the rank of the player overtaken."""
    _publish(
        player_id,
        f"overtaken:{board.slug}",
        OVERTAKEN_AGAIN_AFTER,
        {"kind": "overtaken", "board": board.slug, "name": board.name, "by": by, "rank": rank},
    )


def season_ended(season: Season) -> None:
    """Notify everyone with an account who took part; repeated within a day, it notifies nobody."""
    standings = FinalStanding.objects.filter(
        season=season, player_id__in=rights.players_who_see(season.board).values("pk")
    )
    for player_id, rank in standings.values_list("player_id", "rank").iterator():
        _publish(
            player_id,
            f"season:{season.pk}",
            SEASON_AGAIN_AFTER,
            {
                "kind": "season_ended",
                "board": season.board.slug,
                "name": season.board.name,
                "season": season.name,
                "period": season.period,
                "number": season.number,
                "rank": rank,
            },
        )


def latest(player_id: str, count: int = 100) -> list[Notice]:
    """A player's notices, newest first, of the boards that the player may see now."""
    client = get_redis()
    player = _digest(player_id)
    read = (client.get(keys.notices_read(player)) or b"0-0").decode()
    found = list(_notices(client.xrevrange(keys.notices(player), count=count), stream_order(read)))
    seen = _boards_seen(player_id, {notice.board_slug for notice in found})
    return _named([notice for notice in found if notice.board_slug in seen])


def _named(notices: list[Notice]) -> list[Notice]:
    """With the current names of those who overtook, unless anonymous, hidden or deleted."""
    movers: dict[str, set[str]] = {}
    for notice in notices:
        if notice.kind == "overtaken":
            movers.setdefault(notice.board_slug, set()).add(notice.data["by"])
    names = {
        board.slug: shown_names(board, movers[board.slug])
        for board in Board.objects.filter(slug__in=movers)
    }
    return [
        notice
        if notice.kind != "overtaken"
        else replace(
            notice,
            data=notice.data
            | {"by": names[notice.board_slug].get(notice.data["by"]) or gettext("Anonymous")},
        )
        for notice in notices
    ]


def unread_count(player_id: str) -> int:
    """How many are unread, counted up to 99."""
    return unread_seen(player_id, perform(unread_steps(player_id)))


def unread_steps(player_id: str) -> Steps[Mapping[str, int]]:
    """Unread notices by board, for pages that read it together with others; `unread_seen` counts
    those that the player may see."""
    player = _digest(player_id)
    reply = yield Call(_count, [keys.notices(player), keys.notices_read(player)], [MOST_UNREAD])
    return {
        slug.decode(): int(number) for slug, number in zip(reply[::2], reply[1::2], strict=True)
    }


def unread_seen(player_id: str, by_board: Mapping[str, int]) -> int:
    """The sum over the boards that the player may see now. Reads SQL only when there are any."""
    seen = _boards_seen(player_id, set(by_board)) if by_board else set()
    return sum(number for slug, number in by_board.items() if slug in seen)


async def aunread_count(player_id: str) -> int:
    """The asynchronous twin."""
    by_board = await aperform(unread_steps(player_id))
    return await ask_sql(unread_seen, player_id, by_board) if by_board else 0


def _boards_seen(player_id: str, slugs: set[str]) -> set[str]:
    """Those boards that the player may see: members leave, and boards become private."""
    boards = list(Board.objects.filter(slug__in=slugs))
    account = None
    if any(board.visibility == Board.Visibility.PRIVATE for board in boards):
        account = User.objects.filter(player=player_id).first()
    return {board.slug for board in boards if rights.may_see(account, board)}


def player_of(message: bytes) -> str:
    """The player that a message of the channel is for."""
    return str(msgspec.json.decode(message)["player"])


def mark_read(player_id: str, notice_id: str) -> None:
    """Mark everything up to this notice as read."""
    get_redis().set(keys.notices_read(_digest(player_id)), notice_id, ex=KEPT)


def _publish(player_id: str, what: str, again_after: int, notice: dict[str, Any]) -> None:
    player = _digest(player_id)
    _add(
        get_redis(),
        [keys.notices(player), keys.notice_sent(player, what)],
        [
            again_after,
            KEPT,
            MOST_KEPT,
            msgspec.json.encode(notice).decode(),
            player_id,
            keys.notices_live(),
        ],
    )


def _notices(entries: Iterable[Any], read: tuple[int, int]) -> Iterable[Notice]:
    for raw_id, fields in entries:
        stream_id = raw_id.decode()
        data = msgspec.json.decode(fields[b"notice"])
        yield Notice(
            id=stream_id,
            at=moment(stream_order(stream_id)[0] * 1000),
            kind=data.pop("kind"),
            board_slug=data.pop("board"),
            board_name=data.pop("name"),
            data=data,
            unread=stream_order(stream_id) > read,
        )


def _digest(player_id: str) -> str:
    """Ids may hold braces, which would decide the slot on a cluster."""
    return hashlib.blake2s(player_id.encode(), digest_size=16).hexdigest()
