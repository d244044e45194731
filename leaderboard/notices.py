"""Notices to signed-in players: somebody overtook you, a season has ended.

Each is kept for 30 days in a stream of the player's own and published to open pages in the same
script. The texts are made when they are read, in the reader's language.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from django.urls import reverse
from django.utils.translation import gettext

from config import scripts
from config.redis import get_async_redis, get_redis
from leaderboard import keys
from leaderboard.models import Board, FinalStanding, Player, Season
from leaderboard.pointer import moment
from leaderboard.presentation import number_text, season_text
from leaderboard.retelling import stream_order
from sessions_app.calls import Call, Steps, perform

KEPT = 30 * 24 * 3600
MOST_KEPT = 200
MOST_UNREAD = 99
# Being overtaken ten times in a minute is one piece of news.
OVERTAKEN_AGAIN_AFTER = 60
SEASON_AGAIN_AFTER = 24 * 3600

_SCRIPTS = Path(__file__).parent / "scripts"
_add = scripts.load(_SCRIPTS, "add_notice")
_count = scripts.load(_SCRIPTS, "count_notices")


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
        values = self.data | {
            "board": self.board_name,
            "rank": number_text(self.data["rank"]),
            "season": season_text(self.data.get("season", "")),
        }
        if self.kind == "overtaken":
            return (
                gettext("%(by)s overtook you on %(board)s. You are now number %(rank)s.") % values
            )
        return (
            gettext("%(season)s of %(board)s has ended. You came in at number %(rank)s.") % values
        )

    @property
    def url(self) -> str:
        if self.kind == "overtaken":
            return reverse("board", args=[self.board_slug])
        return reverse("season", args=[self.board_slug, self.data["number"]])


def overtaken(board: Board, player_id: str, *, by: str, rank: int) -> None:
    """`by` is the name of whoever stands before the player now, `rank` the player's own."""
    _tell(
        player_id,
        f"overtaken:{board.slug}",
        OVERTAKEN_AGAIN_AFTER,
        {"kind": "overtaken", "board": board.slug, "name": board.name, "by": by, "rank": rank},
    )


def season_ended(season: Season) -> None:
    """Tell everyone with an account who took part; repeated within a day, nobody twice."""
    with_account = Player.objects.filter(account__isnull=False).values("id")
    standings = FinalStanding.objects.filter(season=season, player_id__in=with_account)
    for player_id, rank in standings.values_list("player_id", "rank").iterator():
        _tell(
            player_id,
            f"season:{season.pk}",
            SEASON_AGAIN_AFTER,
            {
                "kind": "season_ended",
                "board": season.board.slug,
                "name": season.board.name,
                "season": season.name,
                "number": season.number,
                "rank": rank,
            },
        )


def latest(player_id: str, count: int = 100) -> list[Notice]:
    """A player's notices, newest first."""
    client = get_redis()
    player = _digest(player_id)
    read = (client.get(keys.notices_read(player)) or b"0-0").decode()
    return list(_notices(client.xrevrange(keys.notices(player), count=count), stream_order(read)))


def unread_count(player_id: str) -> int:
    """How many are unread, counted up to 99."""
    return perform(unread_steps(player_id))


def unread_steps(player_id: str) -> Steps[int]:
    """The same question, for pages that ask it together with others."""
    player = _digest(player_id)
    reply = yield Call(_count, [keys.notices(player), keys.notices_read(player)], [MOST_UNREAD])
    return int(reply)


async def aunread_count(player_id: str) -> int:
    """The asynchronous twin."""
    player = _digest(player_id)
    names = [keys.notices(player), keys.notices_read(player)]
    return int(await _count.acall(get_async_redis(), names, [MOST_UNREAD]))


def player_of(message: bytes) -> str:
    """Whom a message of the channel is for."""
    return str(msgspec.json.decode(message)["player"])


def mark_read(player_id: str, notice_id: str) -> None:
    """Everything up to this notice has been seen."""
    get_redis().set(keys.notices_read(_digest(player_id)), notice_id, ex=KEPT)


def _tell(player_id: str, what: str, again_after: int, notice: dict[str, Any]) -> None:
    player = _digest(player_id)
    _add(
        get_redis(),
        [keys.notices(player), keys.notice_told(player, what)],
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
    """Ids may hold braces, which would choose the slot on a cluster."""
    return hashlib.blake2s(player_id.encode(), digest_size=16).hexdigest()
