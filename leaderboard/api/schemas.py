"""What the API answers: the structs that it encodes are the schemas that it documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType

from leaderboard.api import queries
from leaderboard.boards.nearby import NearbyEntry
from leaderboard.boards.scores import ScoreResult
from leaderboard.entries import Entry
from leaderboard.models import Board, Season

REF = "#/components/schemas/{name}"
_structs: list[type[msgspec.Struct]] = []
_words: dict[str, dict[str, Any]] = {}


def documented(example: msgspec.Struct) -> dict[str, Any]:
    """The `openapi_extra` of an operation that answers with structs like the example."""
    kind = type(example)
    _structs.append(kind)
    content = {
        "schema": {"$ref": REF.format(name=kind.__name__)},
        "example": msgspec.to_builtins(example),
    }
    # A number, as Ninja writes it: as text it would be in the document twice.
    return {"responses": {200: {"content": {"application/json": content}}}}


def components(further: Iterable[type[msgspec.Struct]] = ()) -> dict[str, Any]:
    """The schemas of all answers, and of `further` structs, by name."""
    _, found = msgspec.json.schema_components([*_structs, *further], ref_template=REF)
    return found | _words


def refer(name: str) -> Meta:
    return Meta(extra_json_schema={"$ref": REF.format(name=name)})


def _one_of(name: str, words: Iterable[str]) -> Meta:
    """A text that is one of a few words: a component, so that clients have one type for it."""
    _words[name] = {"title": name, "type": "string", "enum": list(words)}
    return refer(name)


Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Window = Annotated[str, _one_of("Window", get_args(queries.Window))]
SeasonState = Annotated[str, _one_of("SeasonState", Season.State.values)]
# Of a board as it is now: `planned` before its first season, `paused` while it is rebuilt.
BoardState = Annotated[str, _one_of("BoardState", ["planned", "open", "paused", "closed"])]
Visibility = Annotated[str, _one_of("Visibility", Board.Visibility.values)]
Order = Annotated[str, _one_of("Order", Board.Order.values)]
Operator = Annotated[str, _one_of("Operator", Board.Operator.values)]
Ties = Annotated[str, _one_of("Ties", Board.Ties.values)]
Ranking = Annotated[str, _one_of("Ranking", Board.Ranking.values)]
Group = Annotated[str, _one_of("Group", Board.Group.values)]


# ---- entries -------------------------------------------------------------------------------------


Head = tuple[str, int | None, str, int]


class _Read(msgspec.Struct):
    """Begins with the `Head`: which board, season and window, at which sequence."""

    board: str
    season: int | None
    window: Window
    sequence: Annotated[
        int, Meta(description="The number of changes to the board; it grows with each.")
    ]


class EntryPage(_Read):
    total: Annotated[int, Meta(description="Entries in all: of the board, the group or the range.")]
    entries: Sequence[Entry]
    next: Annotated[str | None, Meta(description="Cursor of the next page; null on the last.")] = (
        None
    )


class AmongEntry(Entry, gc=False, kw_only=True):
    board_rank: Annotated[int, Meta(description="The rank on the whole board.")]


class Among(_Read):
    entries: Sequence[AmongEntry]
    missing: list[str]


class Bin(msgspec.Struct):
    low: float
    high: float
    count: int


class Distribution(_Read):
    bins: list[Bin]


_HEAD: Head = ("summer-cup", 3, "season", 4182)
_DETAILS = {"name": "Ada", "country": "GB"}
_FIRST = Entry(1, "ada", 9120.0, _DETAILS)
_SECOND = Entry(2, "lin", 8740.0, {"name": "Lin", "country": "CN"})
ENTRY_PAGE = documented(EntryPage(*_HEAD, 2, [_FIRST, _SECOND]))
AMONG = documented(Among(*_HEAD, [AmongEntry(1, "ada", 9120.0, _DETAILS, board_rank=17)], ["lin"]))
DISTRIBUTION = documented(Distribution(*_HEAD, [Bin(0.0, 5e3, 12), Bin(5e3, 1e4, 3)]))


# ---- players -------------------------------------------------------------------------------------


class PlayerOut(_Read):
    total: int
    percentile: Annotated[
        float, Meta(description="The share of the board, in percent, equalled or beaten.")
    ]
    entry: Entry
    neighbours: Annotated[Sequence[Entry], Meta(description="In order, including the player.")]


class PlayerEntry(msgspec.Struct):
    """`rank` is null for a hidden player; `score` too for a player without one this season."""

    rank: int | None
    player: str
    score: float | None
    details: dict[str, str]
    subscore: float | UnsetType | None = UNSET


class HistoryEvent(msgspec.Struct):
    at: Moment
    season: int
    value: float | None
    operator: Operator
    score: float | None
    rank: int | None


class History(msgspec.Struct):
    board: str
    player: str
    events: Annotated[
        list[HistoryEvent], Meta(description="Oldest first, as far as they are stored.")
    ]


class Removed(msgspec.Struct):
    removed: bool


_MOMENT = "2026-11-16T12:00:00.000000Z"
PLAYER = documented(PlayerOut(*_HEAD, 2, 100.0, _FIRST, [_FIRST, _SECOND]))
PLAYER_ENTRY = documented(PlayerEntry(1, "ada", 9120.0, _DETAILS))
HISTORY = documented(
    History("summer-cup", "ada", [HistoryEvent(_MOMENT, 3, 120.0, "sum", 9120.0, 1)])
)
REMOVED = documented(Removed(True))


# ---- scores --------------------------------------------------------------------------------------


class RowRefused(msgspec.Struct):
    error: Annotated[dict[str, Any], refer("RowError")]


_RESULTS = Meta(
    description="One for each row, in order.",
    extra_json_schema={
        "items": {
            "anyOf": [
                {"$ref": REF.format(name=kind.__name__)} for kind in (ScoreResult, RowRefused)
            ]
        }
    },
)


class Bulk(msgspec.Struct):
    accepted: int
    refused: int
    results: Annotated[Sequence[Any], _RESULTS]


_ACCEPTED = ScoreResult("ada", 3, 1, 9120.0, 4, 7000.0, True, 4183, [])
_REFUSED = RowRefused(
    {
        "code": "missing_field",
        "detail": "This field is missing.",
        "field": "1.score",
        "row": 1,
    }
)
_structs.append(RowRefused)
SCORE_RESULT = documented(_ACCEPTED)
BULK = documented(Bulk(1, 1, [_ACCEPTED, _REFUSED]))


# ---- boards and seasons --------------------------------------------------------------------------


class BoardOut(msgspec.Struct):
    slug: str
    name: str
    description: str
    visibility: Visibility
    order: Order
    operator: Operator
    ties: Ties
    ranking: Ranking
    subscore: Annotated[Order | None, Meta(description="The order of the second number.")]
    max_entries: int | None
    lowest_score: float | None
    highest_score: float | None
    largest_step: float | None
    first_step: bool
    windows: list[Window]
    groups: list[Group]
    time_zone: str
    unit: str


class BoardList(msgspec.Struct):
    boards: list[BoardOut]


class SeasonNow(msgspec.Struct):
    number: int
    state: BoardState
    opens: Moment | None
    closes: Moment | None


class BoardNow(BoardOut):
    season: SeasonNow | None
    size: int
    online: int
    sequence: int


class Presence(msgspec.Struct):
    board: str
    online: int
    players: Annotated[list[str], Meta(description="Visible players only, at most 100.")]


class PastSeason(msgspec.Struct):
    number: int
    name: str
    opens: Moment
    closed_at: Moment | None
    entries: int
    podium: list[Entry]


class SeasonList(msgspec.Struct):
    board: str
    seasons: Annotated[list[PastSeason], Meta(description="Archived seasons, newest first.")]


class Standings(msgspec.Struct):
    board: str
    season: int
    name: str
    page: int
    pages: int
    total: int
    entries: list[Entry]
    next: Annotated[int | None, Meta(description="The number of the next page; null on the last.")]


class SeasonOut(msgspec.Struct):
    number: int
    name: str
    state: SeasonState
    closed_at: Moment | None
    entries: int


class Done(msgspec.Struct):
    done: bool


_BOARD: dict[str, Any] = {
    "slug": "summer-cup",
    "name": "Summer Cup",
    "description": "The one that counts.",
    "visibility": "public",
    "order": "desc",
    "operator": "best",
    "ties": "earliest",
    "ranking": "ordinal",
    "subscore": None,
    "max_entries": None,
    "lowest_score": 0.0,
    "highest_score": None,
    "largest_step": None,
    "first_step": False,
    "windows": ["day", "week"],
    "groups": ["country"],
    "time_zone": "Europe/Berlin",
    "unit": "pts",
}
_OPENED, _ENDED = "2026-10-01T00:00:00.000000Z", "2026-11-01T00:00:00.000000Z"
_PAST = PastSeason(2, "October 2026", _OPENED, _ENDED, 840, [_FIRST])
BOARDS = documented(BoardList([BoardOut(**_BOARD)]))
BOARD = documented(
    BoardNow(
        **_BOARD, season=SeasonNow(3, "open", _ENDED, None), size=1200, online=17, sequence=4182
    )
)
PRESENCE = documented(Presence("summer-cup", 17, ["ada", "lin"]))
SEASONS = documented(SeasonList("summer-cup", [_PAST]))
STANDINGS = documented(Standings("summer-cup", 2, "October 2026", 1, 9, 840, [_FIRST], 2))
SEASON = documented(SeasonOut(3, "November 2026", "closed", _MOMENT, 900))
DONE = documented(Done(True))


# ---- places --------------------------------------------------------------------------------------


class LocationOut(msgspec.Struct):
    player: str
    lat: float
    lon: float
    expires: Moment


class Nearby(msgspec.Struct):
    board: str
    unit: queries.DistanceUnit
    entries: list[NearbyEntry]


LOCATION = documented(LocationOut("ada", 52.52, 13.4, "2026-12-16T12:00:00.000000Z"))
NEARBY = documented(
    Nearby("summer-cup", "km", [NearbyEntry(1, "ada", 9120.0, _DETAILS, distance=1.2)])
)
