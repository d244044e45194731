"""How anonymous players appear: under another id, which differs from board to board.

The alias is kept among the player's details in Redis and written together with them, so that
whoever reads an entry sees in the same moment that it is to be masked. A player who has one shows
nothing else: neither name nor any other detail. Staff, and API keys of the board, see the id.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from django.conf import settings
from msgspec.structs import replace

from config.redis.connections import get_async_redis, get_redis
from leaderboard import keys
from leaderboard.entries import Entry
from leaderboard.models import Board, Player
from leaderboard.models.countries import checked_country
from leaderboard.models.player import ANONYMOUS

# The detail that holds the alias. Details from outside cannot set it.
ALIAS = "~alias"
COUNTRY = "country"
PREFIX = "anonymous-"
MASKED = {"name": ANONYMOUS}

AnyEntry = TypeVar("AnyEntry", bound=Entry)


def alias_of(board: Board, player_id: str) -> str:
    """The same for a player and a board every time; nobody without our secret can compute it."""
    text = f"alias\0{board.slug}\0{player_id}".encode()
    digest = hmac.digest(settings.SECRET_KEY.encode(), text, "sha256")
    return PREFIX + base64.b32encode(digest[:10]).decode().lower()


def anonymous_details(board: Board, player_id: str) -> dict[str, str]:
    """All that is kept beside the score of an anonymous player."""
    return MASKED | {ALIAS: alias_of(board, player_id)}


def row_details(board: Board, player: Player) -> dict[str, str]:
    """What is shown beside the score."""
    if player.privacy == Player.Privacy.ANONYMOUS:
        return anonymous_details(board, player.pk)
    return {
        "name": player.display_name or player.pk,
        "country": player.country,
        "team": player.team,
        "avatar": player.avatar,
    }


def from_outside(details: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Details as somebody gave them, without the one that is ours, and with a country that is one:
    `LeaderboardError` otherwise."""
    if not details:
        return details
    given = details.get(COUNTRY)
    country = None if given is None else checked_country(given)
    if country == given and ALIAS not in details:
        return details
    kept = {name: value for name, value in details.items() if name != ALIAS}
    return kept if given is None else kept | {COUNTRY: country}


def masked(entry: AnyEntry, *, with_id: bool = False) -> AnyEntry:
    """An entry as others may see it; `with_id` for staff and keys of the board."""
    alias = entry.details.get(ALIAS)
    if not alias:
        return entry
    player_id = entry.player_id if with_id else alias
    return replace(entry, player_id=player_id, details=dict(MASKED))


def masked_all(entries: Iterable[AnyEntry], *, with_id: bool = False) -> list[AnyEntry]:
    return [masked(entry, with_id=with_id) for entry in entries]


def masked_some(entries: Iterable[AnyEntry], asked: Iterable[str]) -> list[AnyEntry]:
    """Entries of players who were asked for. Who is asked for by an id that others may not know is
    left out: the answer would say which alias belongs to it."""
    names = set(asked)
    shown = masked_all(entries)
    return [entry for entry in shown if not is_alias(entry.player_id) or entry.player_id in names]


def is_alias(text: str) -> bool:
    """Whether this could be an alias; only Redis knows whether it is."""
    return text.startswith(PREFIX)


def find(board: Board, name: str) -> str | None:
    """The player behind an alias; None when there is none."""
    if not is_alias(name):
        return None
    found = get_redis().hget(keys.aliases(board.key), name)
    return None if found is None else str(found.decode())


async def afind(board: Board, name: str) -> str | None:
    """The asynchronous twin."""
    if not is_alias(name):
        return None
    found = await get_async_redis().hget(keys.aliases(board.key), name)
    return None if found is None else str(found.decode())
