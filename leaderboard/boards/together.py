"""Several seasons of a board, and other boards, as one: a union that Redis makes.

Redis has the running seasons; past ones come from SQL and are copied into it for a while, and so
are other boards, because on a cluster a union takes keys of one board only. However many ask, a
choice is made once in `FRESH` seconds; when somebody is hidden or changes how they are named, at
once.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from config.caching import cached
from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.access import aliases, erasing, rights
from leaderboard.boards.standings import PER_PAGE, Entry, Slice
from leaderboard.engine import RedisLeaderboard
from leaderboard.errors import ServiceError
from leaderboard.models import Board, FinalStanding, Season
from leaderboard.seasons.history import names_version

MOST_SOURCES = 12
MOST_ENTRIES = 100_000  # of all sources: half a second of work, and never of Redis at a stretch
FRESH = 10  # seconds
UNION_KEPT = 120
SOURCE_KEPT = 600
_PORTION = 1000  # entries in one command


@dataclass(frozen=True, slots=True)
class Choice:
    """What is shown together: seasons of one board, and the running seasons of other boards."""

    board: Board
    seasons: tuple[Season, ...]
    others: tuple[Board, ...]
    how: str

    @property
    def text(self) -> str:
        seasons = ",".join(f"{one.number}:{one.state}:{one.fence}" for one in self.seasons)
        others = ",".join(one.slug for one in self.others)
        return f"{self.board.slug}|{self.board.revision}|{self.how}|{seasons}|{others}"


class TooLargeError(ServiceError):
    """More entries than may be put together."""

    code = "too_large"


def page(
    choice: Choice, *, number: int = 1, player_id: str | None = None
) -> tuple[Slice, Entry | None]:
    """A page of the union, and the entry of this player."""
    digest = _digest(choice.text, names_version())
    key = cached(keys.cached_together(digest), FRESH, lambda: _build(choice))
    union = choice.board.engine(season=1)._plain_view(key)
    entries = union.get_page((number - 1) * PER_PAGE, PER_PAGE)
    mine = union.get_user_entry(player_id) if player_id is not None else None
    named = _named(choice, [*entries, mine] if mine else entries)
    return Slice(union.get_size(), named[: len(entries)]), named[-1] if mine else None


def _build(choice: Choice) -> str:
    home = choice.board.engine(season=1)
    live = [choice.board.engine(one.number) for one in choice.seasons if not _is_past(one)]
    past = [one for one in choice.seasons if _is_past(one)]
    others = [one.engine() for one in choice.others]
    size = sum(one.entries for one in past) + sum(one.get_size() for one in [*live, *others])
    if size > MOST_ENTRIES:
        raise TooLargeError("These have too many players to combine; choose fewer.")
    sources = [
        *live,
        *(_copied_season(home, one) for one in past),
        *(_copied(home, secrets.token_hex(12), one.scan(details=False)) for one in others),
    ]
    first, *rest = sources
    return first.union(rest, choice.how, ttl=UNION_KEPT).entries_key


def _is_past(season: Season) -> bool:
    return season.state == Season.State.CLOSED


def _copied_season(home: RedisLeaderboard, season: Season) -> RedisLeaderboard:
    """A past season in Redis; it does not change, so that unions share it for a while."""
    digest = _digest(season.number, season.fence, names_version())
    key = keys.union_source(home.key, digest)
    if get_redis().exists(key):
        return home._plain_view(key)
    unseen = rights.unseen_on(season.board).values("pk")
    standings = season.standings.exclude(player_id__in=unseen).values_list("player_id", "score")
    rows = ({"user_id": player_id, "score": score} for player_id, score in standings.iterator())
    return _copied(home, digest, rows)


def _copied(
    home: RedisLeaderboard, digest: str, rows: Iterable[dict[str, Any]]
) -> RedisLeaderboard:
    """A source of plain ids beside the board's own keys; complete before others can find it."""
    client = get_redis()
    key = keys.union_source(home.key, digest)
    building = keys.union_source(home.key, secrets.token_hex(12))
    portion: dict[str, float] = {}
    for row in rows:
        portion[row["user_id"]] = row["score"]
        if len(portion) == _PORTION:
            _add(building, portion)
            portion = {}
    if portion:
        _add(building, portion)
    if client.exists(building):
        client.rename(building, key)
    return home._plain_view(key)


def _add(key: str, portion: dict[str, float]) -> None:
    with get_redis().pipeline(transaction=False) as pipeline:
        pipeline.zadd(key, portion)
        pipeline.expire(key, SOURCE_KEPT)
        pipeline.execute()


def _named(choice: Choice, entries: Sequence[Entry]) -> list[Entry]:
    """The entries with details: as on the board, else as in the newest of the seasons or on another
    board, which is then the entry's `home`; nameless for who wants to be."""
    missing = [entry["user_id"] for entry in entries if not entry["metadata"]]
    found = _found_elsewhere(choice, missing) if missing else {}
    anonymous = rights.anonymous_among([entry["user_id"] for entry in entries])
    return [
        entry | _masked(choice.board, entry["user_id"])
        if entry["user_id"] in anonymous
        else entry | found.get(entry["user_id"], {})
        for entry in entries
    ]


def _masked(board: Board, player_id: str) -> Entry:
    alias = aliases.alias_of(board, player_id)
    return {"user_id": alias, "metadata": aliases.MASKED, "masked": True}


def _found_elsewhere(choice: Choice, player_ids: Sequence[str]) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for other in choice.others:
        for entry in other.engine().get_entries(list(player_ids))["entries"]:
            found[entry["user_id"]] = {"metadata": entry["metadata"], "home": other}
    standings = FinalStanding.objects.filter(season__in=choice.seasons, player_id__in=player_ids)
    for standing in standings.order_by("season__number"):
        if erasing.is_erased(standing):
            found.setdefault(standing.player_id, _masked(choice.board, standing.player_id))
            continue
        details = standing.details | {"name": standing.name}
        found[standing.player_id] = {"metadata": details, "home": choice.board}
    return found


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:24]
