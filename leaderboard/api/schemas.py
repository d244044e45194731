"""What the API answers, each with an example."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import ConfigDict, Field, PlainSerializer, WithJsonSchema
from typing_extensions import TypeAliasType

from config.times import utc_text
from leaderboard.api import queries
from leaderboard.api.problems import RowError
from leaderboard.models import Board

Details = dict[str, str]
# In every answer alike; Ninja's own form has milliseconds, or none.
Moment = Annotated[
    datetime,
    PlainSerializer(utc_text, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
# Named types are components of the OpenAPI document, so that clients have one type for each.
Window = TypeAliasType("Window", queries.Window)
SeasonState = TypeAliasType("SeasonState", Literal["planned", "open", "closing", "closed"])
# Of a board as it is now: `planned` before its first season, `paused` while it is rebuilt.
BoardState = TypeAliasType("BoardState", Literal["planned", "open", "paused", "closed"])


def example(**values: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"example": values})


ENTRY = {"rank": 1, "player": "ada", "score": 9120.0, "details": {"name": "Ada", "country": "GB"}}
NEXT = {"rank": 2, "player": "lin", "score": 8740.0, "details": {"name": "Lin", "country": "CN"}}


# ---- entries -------------------------------------------------------------------------------------


class Entry(Schema):
    model_config = example(**ENTRY)
    rank: int
    player: str
    score: float
    subscore: float | None = Field(
        default=None,
        description="Only on boards with a second number; null for a player without one.",
    )
    details: Details


class PlayerEntry(Schema):
    """`rank` is null for a hidden player; `score` is also null for a player without a score this
    season."""

    model_config = example(**ENTRY)
    rank: int | None
    player: str
    score: float | None
    subscore: float | None = None
    details: Details


class EntryPage(Schema):
    model_config = example(
        board="summer-cup",
        season=3,
        window="season",
        sequence=4182,
        total=2,
        entries=[ENTRY, NEXT],
        next=None,
    )
    board: str
    season: int | None
    window: Window
    sequence: int = Field(description="The number of changes to the board; it grows with each.")
    total: int = Field(description="Entries in all: of the board, the group or the range.")
    entries: list[Entry]
    next: str | None = Field(default=None, description="Cursor of the next page; null on the last.")


class AmongEntry(Entry):
    model_config = example(**ENTRY, board_rank=17)
    board_rank: int = Field(description="The rank on the whole board.")


class Among(Schema):
    model_config = example(
        board="summer-cup",
        season=3,
        window="season",
        sequence=4182,
        entries=[ENTRY | {"board_rank": 1}],
        missing=["lin"],
    )
    board: str
    season: int | None
    window: Window
    sequence: int
    entries: list[AmongEntry]
    missing: list[str]


class Bin(Schema):
    low: float
    high: float
    count: int


class Distribution(Schema):
    model_config = example(
        board="summer-cup",
        season=3,
        window="season",
        sequence=4182,
        bins=[{"low": 0.0, "high": 5000.0, "count": 12}, {"low": 5000.0, "high": 1e4, "count": 3}],
    )
    board: str
    season: int | None
    window: Window
    sequence: int
    bins: list[Bin]


# ---- players -------------------------------------------------------------------------------------


class PlayerOut(Schema):
    model_config = example(
        board="summer-cup",
        season=3,
        window="season",
        sequence=4182,
        total=2,
        percentile=100.0,
        entry=ENTRY,
        neighbours=[ENTRY, NEXT],
    )
    board: str
    season: int | None
    window: Window
    sequence: int
    total: int
    percentile: float = Field(description="The share of the board, in percent, equalled or beaten.")
    entry: Entry
    neighbours: list[Entry] = Field(description="In order, including the player.")


class ScoreResult(Schema):
    """The result of a submission. `rank` is null for a player who is hidden or was trimmed at
    once."""

    model_config = example(
        player="ada",
        season=3,
        rank=1,
        score=9120.0,
        previous_rank=4,
        previous_score=7000.0,
        changed=True,
        sequence=4183,
        trimmed=[],
    )
    player: str
    season: int
    rank: int | None
    score: float | None
    subscore: float | None = None
    previous_rank: int | None
    previous_score: float | None
    changed: bool = Field(description="False if the score on the board did not change.")
    sequence: int
    trimmed: list[str] = Field(description="Players removed by the size limit.")


class RowRefused(Schema):
    error: RowError


class Bulk(Schema):
    model_config = example(
        accepted=1,
        refused=1,
        results=[
            {
                "player": "ada",
                "season": 3,
                "rank": 1,
                "score": 9120.0,
                "previous_rank": None,
                "previous_score": None,
                "changed": True,
                "sequence": 4183,
                "trimmed": [],
            },
            {
                "error": {
                    "code": "missing_field",
                    "detail": "This field is missing.",
                    "field": "1.score",
                    "row": 1,
                }
            },
        ],
    )
    accepted: int
    refused: int
    results: list[ScoreResult | RowRefused] = Field(description="One for each row, in order.")


class HistoryEvent(Schema):
    model_config = example(
        at="2026-11-16T12:00:00.000000Z",
        season=3,
        value=120.0,
        operator="sum",
        score=9120.0,
        rank=1,
    )
    at: Moment
    season: int
    value: float | None
    operator: Board.Operator
    score: float | None
    rank: int | None


class History(Schema):
    model_config = example(
        board="summer-cup",
        player="ada",
        events=[
            {
                "at": "2026-11-16T12:00:00.000000Z",
                "season": 3,
                "value": 120.0,
                "operator": "sum",
                "score": 9120.0,
                "rank": 1,
            }
        ],
    )
    board: str
    player: str
    events: list[HistoryEvent] = Field(description="Oldest first, as far as they are stored.")


# ---- boards and seasons --------------------------------------------------------------------------


class SeasonNow(Schema):
    number: int
    state: BoardState
    opens: Moment | None
    closes: Moment | None


BOARD = {
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


class BoardOut(Schema):
    model_config = example(**BOARD)
    slug: str
    name: str
    description: str
    visibility: Board.Visibility
    order: Board.Order
    operator: Board.Operator
    ties: Board.Ties
    ranking: Board.Ranking
    subscore: Board.Order | None = Field(description="The order of the second number.")
    max_entries: int | None
    lowest_score: float | None
    highest_score: float | None
    largest_step: float | None
    first_step: bool
    windows: list[Board.Window]
    groups: list[Board.Group]
    time_zone: str
    unit: str


class BoardNow(BoardOut):
    model_config = example(
        **BOARD,
        season={
            "number": 3,
            "state": "open",
            "opens": "2026-11-01T00:00:00.000000Z",
            "closes": None,
        },
        size=1200,
        online=17,
        sequence=4182,
    )
    season: SeasonNow | None
    size: int
    online: int
    sequence: int


class BoardList(Schema):
    model_config = example(boards=[BOARD])
    boards: list[BoardOut]


SEASON = {
    "number": 2,
    "name": "October 2026",
    "opens": "2026-10-01T00:00:00.000000Z",
    "closed_at": "2026-11-01T00:00:00.000000Z",
    "entries": 840,
    "podium": [ENTRY],
}


class PastSeason(Schema):
    model_config = example(**SEASON)
    number: int
    name: str
    opens: Moment
    closed_at: Moment | None
    entries: int
    podium: list[Entry]


class SeasonList(Schema):
    model_config = example(board="summer-cup", seasons=[SEASON])
    board: str
    seasons: list[PastSeason] = Field(description="Archived seasons, newest first.")


class Standings(Schema):
    model_config = example(
        board="summer-cup",
        season=2,
        name="October 2026",
        page=1,
        pages=9,
        total=840,
        entries=[ENTRY],
        next=2,
    )
    board: str
    season: int
    name: str
    page: int
    pages: int
    total: int
    entries: list[Entry]
    next: int | None = Field(description="The number of the next page; null on the last.")


class SeasonOut(Schema):
    model_config = example(
        number=3,
        name="November 2026",
        state="closed",
        closed_at="2026-11-16T12:00:00.000000Z",
        entries=900,
    )
    number: int
    name: str
    state: SeasonState
    closed_at: Moment | None
    entries: int


class Presence(Schema):
    model_config = example(board="summer-cup", online=17, players=["ada", "lin"])
    board: str
    online: int
    players: list[str] = Field(description="Visible players only, at most 100.")


class Removed(Schema):
    model_config = example(removed=True)
    removed: bool


class Done(Schema):
    model_config = example(done=True)
    done: bool


# ---- places --------------------------------------------------------------------------------------


class LocationOut(Schema):
    model_config = example(player="ada", lat=52.52, lon=13.4, expires="2026-12-16T12:00:00.000000Z")
    player: str
    lat: float
    lon: float
    expires: Moment


class NearbyEntry(Entry):
    model_config = example(**ENTRY, distance=1.2)
    distance: float


class Nearby(Schema):
    model_config = example(board="summer-cup", unit="km", entries=[ENTRY | {"distance": 1.2}])
    board: str
    unit: queries.DistanceUnit
    entries: list[NearbyEntry]
