"""Several seasons of a board, and other boards, as one: a union that Redis makes.

Redis has the running seasons; past ones come from SQL and are copied into it for a while, and so
are other boards, because on a cluster a union takes keys of one board only. However many ask, a
choice is made once in `FRESH` seconds; when somebody is hidden or changes how they are named, at
once.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from msgspec import structs

from config.caching import cached
from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.access import aliases, erasing, rights
from leaderboard.boards.standings import PER_PAGE, Slice
from leaderboard.engine import RedisLeaderboard
from leaderboard.entries import Entry, UnnamedEntry
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


@dataclass(frozen=True, slots=True)
class Union:
    """A page of the union, the entry of one player, and for those who are on another board only
    that board."""

    page: Slice
    mine: Entry | None
    homes: Mapping[str, Board]


def page(choice: Choice, *, number: int = 1, player_id: str | None = None) -> Union:
    digest = _digest(choice.text, names_version())
    key = cached(keys.cached_together(digest), FRESH, lambda: _build(choice))
    union = choice.board.engine(season=1)._plain_view(key)
    found = union.get_page((number - 1) * PER_PAGE, PER_PAGE)
    mine = union.get_user_entry(player_id) if player_id is not None else None
    entries, homes = _named(choice, [Entry.of(one) for one in [*found, mine] if one])
    own = entries.pop() if mine else None
    return Union(Slice(union.get_size(), entries), own, homes)


def _build(choice: Choice) -> str:
    home = choice.board.engine(season=1)
    live = [choice.board.engine(one.number) for one in choice.seasons if not _is_past(one)]
    past = [one for one in choice.seasons if _is_past(one)]
    others = [one.engine() for one in choice.others]
    size = sum(one.entries for one in past) + sum(one.get_size() for one in [*live, *others])
    if size > MOST_ENTRIES:
        raise TooLargeError("These have too many players to combine; choose fewer.")
    # Players who are hidden on this board are on none of its pages, whatever other boards show.
    unseen = frozenset(rights.unseen_on(choice.board).values_list("pk", flat=True))
    sources = [
        *live,
        *(_copied_season(home, one) for one in past),
        *(_copied(home, secrets.token_hex(12), _scores(one, unseen)) for one in others),
    ]
    first, *rest = sources
    return first.union(rest, choice.how, ttl=UNION_KEPT).entries_key


def _scores(board: RedisLeaderboard, unseen: frozenset[str]) -> Iterator[tuple[str, float]]:
    for one in board.scan(details=False):
        if one["user_id"] not in unseen:
            yield one["user_id"], one["score"]


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
    return _copied(home, digest, standings.iterator())


def _copied(
    home: RedisLeaderboard, digest: str, scores: Iterable[tuple[str, float]]
) -> RedisLeaderboard:
    """A source of plain ids beside the board's own keys; complete before others can find it."""
    client = get_redis()
    key = keys.union_source(home.key, digest)
    building = keys.union_source(home.key, secrets.token_hex(12))
    left = iter(scores)
    while portion := dict(islice(left, _PORTION)):
        with client.pipeline(transaction=False) as pipeline:
            pipeline.zadd(building, portion)
            pipeline.expire(building, SOURCE_KEPT)
            pipeline.execute()
    if client.exists(building):
        client.rename(building, key)
    return home._plain_view(key)


def _named(choice: Choice, entries: list[Entry]) -> tuple[list[Entry], dict[str, Board]]:
    """The entries with details: as on the board, else as in the newest of the seasons or on another
    board, which is then the player's home; nameless for who wants to be."""
    found = _found_elsewhere(choice, [one.player_id for one in entries if not one.details])
    anonymous = rights.anonymous_among([one.player_id for one in entries])
    named: list[Entry] = []
    homes: dict[str, Board] = {}
    for entry in entries:
        details, home = found.get(entry.player_id, (entry.details, choice.board))
        if details is None or entry.player_id in anonymous:
            alias = aliases.alias_of(choice.board, entry.player_id)
            named.append(UnnamedEntry(entry.rank, alias, entry.score, aliases.MASKED))
        else:
            named.append(structs.replace(entry, details=details))
            homes[entry.player_id] = home
    return named, homes


def _found_elsewhere(
    choice: Choice, player_ids: Sequence[str]
) -> dict[str, tuple[dict[str, str] | None, Board]]:
    """Details, None for a deleted player, and the board where they were found."""
    found: dict[str, tuple[dict[str, str] | None, Board]] = {}
    if not player_ids:
        return found
    for other in choice.others:
        for one in other.engine().get_entries(player_ids)["entries"]:
            found[one["user_id"]] = (one["metadata"], other)
    standings = FinalStanding.objects.filter(season__in=choice.seasons, player_id__in=player_ids)
    for standing in standings.order_by("season__number"):
        if erasing.is_erased(standing):
            found.setdefault(standing.player_id, (None, choice.board))
        else:
            details = standing.details | {"name": standing.name}
            found[standing.player_id] = (details, choice.board)
    return found


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:24]
