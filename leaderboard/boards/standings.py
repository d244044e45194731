"""The live board as a page shows it, read in one round trip.

A reader tries the season seen last (`boards/current.py`), reads the pointer in the same batch, and
reads again only when another season runs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from config.caching import cached
from config.redis.calls import Command, Steps
from config.redis.connections import aperform, perform
from leaderboard import keys
from leaderboard.access import aliases
from leaderboard.boards import current
from leaderboard.boards.questions import together
from leaderboard.engine.board import Operations
from leaderboard.engine.values import MOST_ID_BYTES
from leaderboard.entries import Entry
from leaderboard.models import Board
from leaderboard.notices import delivery
from leaderboard.seasons.pointer import FIELDS, Pointer, parse
from sessions_app import presence, visits

PER_PAGE = 50
NEIGHBOURS = 5
BINS = 24
SPREAD_KEPT = 1  # second
ONLINE_AT_ONCE = 200  # accounts online that are listed in the same round trip
MOST_COMBINED = 1000  # of a group's members that are looked at when two groups are asked for
MOST_SUGGESTED = 50  # values of a group that a page offers
MOST_MATCHED = 1000  # values of a group that are looked at to match one without case
MOST_GUESSES = 4  # a pointer that moves this often under one read is being moved by a bug


@dataclass(frozen=True, slots=True)
class Slice:
    """A run of neighbouring entries, how many there are in all, and whether only the best
    `MOST_COMBINED` could be looked at to find them."""

    size: int
    entries: list[Entry]
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Mine:
    """A player's place: the entry, the neighbours with it among them, the share of the board, in
    percent, that is as far up or further, and how many the board has."""

    entry: Entry
    around: list[Entry]
    top_share: float
    size: int


@dataclass(frozen=True, slots=True)
class Standings:
    """What a board's page shows. `sequence` was read before the entries, so that a live stream
    that continues after it misses nothing."""

    pointer: Pointer | None
    sequence: int
    updated_at: datetime | None
    page: Slice
    mine: Mine | None = None
    # By board; `notices.unread_seen` says how many of them the reader may see.
    unread_notices: Mapping[str, int] = field(default_factory=dict)
    watching: int = 0
    # Accounts on the site now; None when they are too many to list, and must be asked for.
    online: frozenset[int] | None = None
    # How many scores lie in each of equal steps: low, high and count.
    distribution: list[dict[str, Any]] = field(default_factory=list)
    # Whether anybody shares a place here.
    has_places: bool = False
    # Some of the values that players have in each field of the board's groups.
    suggested: Mapping[str, list[str]] = field(default_factory=dict)


def board_page(
    board: Board,
    *,
    window: str = "",
    offset: int = 0,
    count: int = PER_PAGE,
    player_id: str | None = None,
    among: Sequence[str] | None = None,
    groups: Mapping[str, str] | None = None,
) -> Standings:
    """A page of the running season or of a window, and the place of `player_id` in it.

    With `among` only the given players, each at their rank on the board; with `groups`, values by
    field, only those who have them all, ranked among themselves unless `among` is given too.
    """
    if among is not None:
        question = _some(among, groups)
    elif groups:
        question = _group(groups, offset, count)
    else:
        question = _page(offset, count)
    return perform(_board_page(board, window, question, player_id, for_page=True))


async def atop(board: Board, *, window: str = "", count: int = PER_PAGE) -> Standings:
    """The best entries, for the live stream; not masked yet."""
    question = _page(0, count)
    return await aperform(_board_page(board, window, question, None, for_page=False, with_ids=True))


async def asome(board: Board, player_ids: Sequence[str], *, window: str = "") -> Standings:
    """Given players by their ranks on the board, for the live stream; not masked yet."""
    question = _some(player_ids)
    return await aperform(_board_page(board, window, question, None, for_page=False, with_ids=True))


Question = Callable[[Operations], Generator[Any, Any, Any]]


def _page(offset: int, count: int) -> Question:
    return lambda view: _slice(view.get_range_page(None, None, offset=offset, count=count))


def _group(groups: Mapping[str, str], offset: int, count: int) -> Question:
    if len(groups) > 1:
        return lambda view: _in_groups(view, groups, offset, count)
    (group,) = groups.items()
    return lambda view: _slice(view.get_group(*group, offset=offset, count=count))


def _some(player_ids: Sequence[str], groups: Mapping[str, str] | None = None) -> Question:
    return lambda view: _found(view, player_ids, groups or {})


def _board_page(
    board: Board,
    window: str,
    question: Question,
    player_id: str | None,
    *,
    for_page: bool,
    with_ids: bool = False,
) -> Steps[Standings]:
    def questions(view: Operations) -> list[Any]:
        asked: list[Any] = [_sequence(board), _updated(board), question(view)]
        if player_id is not None:
            asked += [_mine(view, player_id), delivery.unread_steps(player_id)]
        if for_page:
            asked += [_watching(board), _online(), view.get_distribution(BINS)]
            asked += [_has_places(board), _group_values(view, MOST_SUGGESTED)]
        return asked

    pointer, (sequence, updated_at, page, *rest) = yield from _in_season(board, questions, window)
    mine, unread = (rest.pop(0), rest.pop(0)) if player_id is not None else (None, {})
    if not with_ids:
        page = replace(page, entries=aliases.masked_all(page.entries))
    return Standings(pointer, sequence, updated_at, page, mine, unread, *rest)


def spread(
    board: Board, *, window: str = "", player_id: str | None = None
) -> tuple[list[dict[str, Any]], float | None]:
    """How many scores lie in each of equal steps, at most `SPREAD_KEPT` old and counted
    once for all who ask; and this player's own score."""

    def count() -> list[dict[str, Any]]:
        return list(perform(_one(board, lambda view: view.get_distribution(BINS), window)))

    bins = cached(keys.cached_spread(board.slug, window), SPREAD_KEPT, count)
    if player_id is None:
        return bins, None
    found = perform(_one(board, lambda view: view.get_entries([player_id]), window))
    return bins, next((entry["score"] for entry in found["entries"]), None)


def player_on_boards(boards: Sequence[Board], player_id: str) -> dict[str, Mine]:
    """A player's place on each of these boards, by slug, in one round trip."""
    return perform(_player_on_boards(boards, player_id))


def _player_on_boards(boards: Sequence[Board], player_id: str) -> Steps[dict[str, Mine]]:
    found = yield from together(
        [_one(board, lambda view: _mine(view, player_id)) for board in boards]
    )
    return {board.slug: mine for board, mine in zip(boards, found, strict=True) if mine}


@dataclass(frozen=True, slots=True)
class Glance:
    """A board as the first page shows it."""

    top: Standings
    watching: int
    visitors: int


def glances(boards: Sequence[Board], count: int) -> tuple[dict[str, Glance], int, int]:
    """The top of each of these boards, by slug; then how many are on the site now, and how many
    came today. All in one round trip."""
    return perform(_glances(boards, count))


def _glances(boards: Sequence[Board], count: int) -> Steps[tuple[dict[str, Glance], int, int]]:
    tops = [_board_page(board, "", _page(0, count), None, for_page=False) for board in boards]
    watching = presence.counts_steps([None, *(board.slug for board in boards)])
    visitors = [visits.unique_steps(board.slug, 1, None) for board in boards]
    found = yield from together([*tops, *visitors, watching, visits.unique_steps(None, 1, None)])
    number = len(boards)
    here = found[-2]
    shown = {
        board.slug: Glance(top, here[board.slug], came.count)
        for board, top, came in zip(boards, found[:number], found[number : 2 * number], strict=True)
    }
    return shown, here[None], found[-1].count


def entries_before(board: Board, rank: int, *, window: str = "") -> int:
    """How many entries come before the first with this rank."""
    if board.ranking != Board.Ranking.DENSE:
        return rank - 1  # places are skipped, so that ranks count entries; nobody need be asked
    found: int = perform(_one(board, lambda view: view.get_offset(rank), window))
    return found


def _one(board: Board, question: Question, window: str = "") -> Steps[Any]:
    """Ask one question of the running season, whichever that is."""
    _, (answer,) = yield from _in_season(board, lambda view: [question(view)], window)
    return answer


def _in_season(
    board: Board, questions: Callable[[Operations], list[Any]], window: str
) -> Steps[tuple[Pointer | None, list[Any]]]:
    """The pointer, and the answers to questions about the season that it names."""
    for _ in range(MOST_GUESSES):
        season = current.season(board)
        asked = questions(current.reader(board, season, window))
        pointer, *answers = yield from together([_pointer(board), *asked])
        if pointer is None or pointer.number == season:
            break
        current.note_season(board, pointer.number)
    return pointer, answers


def _pointer(board: Board) -> Steps[Pointer | None]:
    return parse((yield Command("HMGET", keys.season_pointer(board.key), *FIELDS)))


def _sequence(board: Board) -> Steps[int]:
    reply = yield Command("MGET", keys.sequence(board.key), keys.quiet(board.key))
    return keys.changed_at(*reply)


def _updated(board: Board) -> Steps[datetime | None]:
    """When the newest accepted write happened: the stream's ids begin with its milliseconds."""
    reply = yield Command("XREVRANGE", keys.events(board.key), "+", "-", "COUNT", 1)
    if not reply:
        return None
    milliseconds = int(reply[0][0].split(b"-")[0])
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _slice(entries: Generator[Any, Any, dict[str, Any]]) -> Generator[Any, Any, Slice]:
    found = yield from entries
    return Slice(found["size"], [Entry.of(one) for one in found["entries"]])


def _in_groups(
    view: Operations, groups: Mapping[str, str], offset: int, count: int
) -> Generator[Any, Any, Slice]:
    """Each group has its own index and no two share one, so the best of the last field's group,
    which is the narrower as a rule, are read and the rest is asked of their details."""
    *_, narrow = groups.items()
    found = yield from view.get_group(*narrow, count=MOST_COMBINED)
    members = [_by_board_rank(one) for one in found["entries"] if _has(one, groups)]
    ranked = view._ranked_among_themselves(members)
    entries = [Entry.of(one) for one in ranked[offset : offset + count]]
    return Slice(len(ranked), entries, found["size"] > MOST_COMBINED)


def _has(found: dict[str, Any], groups: Mapping[str, str]) -> bool:
    return all(found["metadata"].get(field) == value for field, value in groups.items())


def _by_board_rank(found: dict[str, Any]) -> dict[str, Any]:
    """One of several that the engine has ranked among themselves, at its rank on the board."""
    return found | {"rank": found["board_rank"]}


def _found(
    view: Operations, player_ids: Sequence[str], groups: Mapping[str, str]
) -> Generator[Any, Any, Slice]:
    ids = [player_id for player_id in player_ids if len(player_id.encode()) <= MOST_ID_BYTES]
    found = yield from view.get_entries(ids)
    entries = [Entry.of(_by_board_rank(one)) for one in found["entries"] if _has(one, groups)]
    return Slice(len(entries), entries)


def _mine(view: Operations, player_id: str) -> Steps[Mine | None]:
    around, found = yield from together(
        [
            view.get_around_user(player_id, NEIGHBOURS),
            view._ahead(player_id),
        ]
    )
    position = next((n for n, one in enumerate(around) if one["user_id"] == player_id), None)
    if position is None or found is None:
        return None
    ahead, size = found
    entries = aliases.masked_all(map(Entry.of, around))
    return Mine(entries[position], entries, 100.0 * (ahead + 1) / size, size)


def _online() -> Steps[frozenset[int] | None]:
    found = yield from presence.online_ids_steps(None, ONLINE_AT_ONCE)
    return frozenset(found) if len(found) < ONLINE_AT_ONCE else None


def group_values(board: Board, *, window: str = "") -> dict[str, list[str]]:
    """The values that players have in each field of the board's groups."""
    found: dict[str, list[str]] = perform(
        _one(board, lambda view: _group_values(view, MOST_MATCHED), window)
    )
    return found


def _group_values(view: Operations, count: int) -> Steps[dict[str, list[str]]]:
    fields = view.rules.groups
    found = yield from together([view._group_values(name, count) for name in fields])
    return dict(zip(fields, found, strict=True))


def _has_places(board: Board) -> Steps[bool]:
    return bool((yield Command("EXISTS", keys.places(board.key))))


def _watching(board: Board) -> Steps[int]:
    counts = yield from presence.counts_steps([board.slug])
    return counts[board.slug]
