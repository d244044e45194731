"""Players near a place: shared by choice, rounded to about a kilometre, forgotten after 30 days."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.access import aliases
from leaderboard.engine import LeaderboardError
from leaderboard.engine.functions import LIBRARY
from leaderboard.engine.values import checked_printable_id
from leaderboard.entries import Entry
from leaderboard.models import Board

SHARE = LIBRARY["share_place"]
FIND = LIBRARY["find_nearby"]

KEPT = timedelta(days=30)
STEP = 0.01  # of a degree of latitude: about 1.1 km
NORTHMOST = 85.0  # beyond, Redis knows no places
MOST_LOOKED_AT = 1000
UNITS = ("km", "mi", "m", "ft")

_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True)
class Place:
    """Where a player said to be, as it is kept."""

    player_id: str
    lat: float
    lon: float
    expires: datetime


class NearbyEntry(Entry, gc=False, kw_only=True):
    distance: float


def share(board: Board, player_id: str, lat: float, lon: float) -> Place:
    """Keep a player's place, rounded, for 30 days; a new one replaces the old."""
    _check(lat, lon)
    lat, lon = rounded(lat, lon)
    kept = int(KEPT.total_seconds())
    now = SHARE(get_redis(), _places(board), [lon, lat, checked_printable_id(player_id), kept])
    return Place(player_id, lat, lon, datetime.fromtimestamp(now + kept, UTC))


def forget(board: Board, player_id: str) -> bool:
    """Delete a player's place at once; whether there was one."""
    with get_redis().pipeline(transaction=True) as pipe:
        for key in _places(board):
            pipe.zrem(key, checked_printable_id(player_id))
        removed = pipe.execute()
    return bool(removed[0])


def place_of(board: Board, player_id: str) -> tuple[float, float] | None:
    """Latitude and longitude that a player shares now, rounded."""
    client = get_redis()
    shared = client.zscore(keys.places_shared(board.key), player_id)
    if shared is None or shared <= client.time()[0] - KEPT.total_seconds():
        return None
    found = client.geopos(keys.places(board.key), player_id)[0]
    return None if found is None else rounded(found[1], found[0])


def rounded(lat: float, lon: float) -> tuple[float, float]:
    """The place to about a kilometre in both directions. Degrees of longitude get narrower towards
    the poles, so their step gets wider."""
    lat = round(lat / STEP) * STEP
    step = STEP / math.cos(math.radians(lat))
    lon = max(-180.0, min(180.0, round(lon / step) * step))
    return round(lat, 5), round(lon, 5)


def find(
    board: Board,
    lat: float,
    lon: float,
    *,
    radius: float,
    unit: str = "km",
    by: str = "distance",
    limit: int = 50,
    with_ids: bool = False,
) -> list[NearbyEntry]:
    """Those within the radius who are on the board, nearest or best first.

    Looks at the 1,000 nearest places at most.
    """
    _check(lat, lon)
    if unit not in UNITS or not radius > 0:
        raise LeaderboardError(
            "The radius must be above 0, in km, mi, m or ft.", code="invalid_radius", field="radius"
        )
    engine = board.engine()
    found = _decode(
        FIND(
            get_redis(),
            [board.key, engine.entries_key, *_places(board)],
            [
                engine.rules.text,
                repr(float(lon)),
                repr(float(lat)),
                repr(float(radius)),
                unit,
                MOST_LOOKED_AT,
                int(KEPT.total_seconds()),
            ],
        )
    )
    entries = aliases.masked_all(map(_entry, found), with_id=with_ids)
    if by == "rank":
        entries.sort(key=lambda entry: entry.rank)
    return entries[:limit]


def sweep(board: Board) -> int:
    """Delete the places that have expired; returns how many."""
    client = get_redis()
    geo, shared = _places(board)
    oldest = client.time()[0] - int(KEPT.total_seconds())
    old = client.zrange(shared, "-inf", oldest, byscore=True, offset=0, num=10_000)
    if old:
        with client.pipeline(transaction=True) as pipe:
            pipe.zrem(geo, *old)
            pipe.zrem(shared, *old)
            pipe.execute()
    return len(old)


def _places(board: Board) -> list[str]:
    return [keys.places(board.key), keys.places_shared(board.key)]


def _entry(found: list[Any]) -> NearbyEntry:
    player_id, distance, rank, score, flat = found
    details = dict(zip(flat[::2], flat[1::2], strict=True)) if flat else {}
    return NearbyEntry(rank, player_id, float(score), details, distance=float(distance))


def _check(lat: float, lon: float) -> None:
    if not -NORTHMOST <= lat <= NORTHMOST:
        raise LeaderboardError(
            "The latitude must be between -85 and 85.", code="invalid_place", field="lat"
        )
    if not -180 <= lon <= 180:
        raise LeaderboardError(
            "The longitude must be between -180 and 180.", code="invalid_place", field="lon"
        )
