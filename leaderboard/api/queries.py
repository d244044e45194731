"""What the API takes: queries and bodies. The bodies of score submissions, which only the fast lane
reads, are in `leaderboard.api.hot.bodies`."""

from __future__ import annotations

from typing import Annotated, Literal

from ninja import Schema
from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from leaderboard.api import cursors

MOST_ENTRIES = 1000
MOST_AMONG = 1000
MOST_AROUND = 101
MOST_WATCHED = 100
LAST_OFFSET = 2**53 - 1
LAST_SEASON = 2**31 - 1

Window = Literal["season", "day", "week", "month", "all"]
DistanceUnit = Literal["km", "mi", "m", "ft"]


class NoQuery(Schema):
    """Unknown parameters are refused like unknown fields of a body: a typing error must not
    select a default."""

    model_config = ConfigDict(extra="forbid")


class ViewQuery(NoQuery):
    """Which standings of a board: the running season, or a window that it keeps."""

    window: Window = Field(
        default="season", description="The season, or one of the board's windows."
    )
    period: Annotated[str, Field(max_length=10)] | None = Field(
        default=None,
        description="A past day (2026-11-16), week (2026-W47) or month (2026-11) of that window.",
    )

    @field_validator("period")
    @classmethod
    def _period_of_a_window(cls, period: str | None, info: ValidationInfo) -> str | None:
        if period is not None and info.data.get("window") in ("season", "all"):
            raise ValueError("only the windows day, week and month have periods")
        return period


class LiveQuery(NoQuery):
    window: Window = Field(default="season", description="The season, or a window of the board.")
    player: list[str] = Field(
        default=[],
        max_length=MOST_WATCHED,
        description="These players, whatever their rank, instead of the top; can be repeated.",
    )
    ticket: str = Field(
        default="",
        max_length=300,
        description="Instead of a key, for browsers: see `POST …/live/ticket`.",
    )


class PageQuery(ViewQuery):
    offset: int = Field(default=0, ge=0, le=LAST_OFFSET, description="Entries to skip.")
    limit: int = Field(default=100, ge=1, le=MOST_ENTRIES)
    cursor: Annotated[str, Field(max_length=cursors.LONGEST)] | None = Field(
        default=None, description="`next` of the page before; replaces `offset`."
    )


class AroundQuery(ViewQuery):
    count: int = Field(
        default=11, ge=1, le=MOST_AROUND, description="How many entries, including the middle one."
    )


class PlayerQuery(ViewQuery):
    neighbours: int = Field(default=2, ge=0, le=50, description="How many above and below.")


class RangeQuery(ViewQuery):
    low: float | None = Field(default=None, allow_inf_nan=False)
    high: float | None = Field(default=None, allow_inf_nan=False)
    offset: int = Field(default=0, ge=0, le=LAST_OFFSET)
    limit: int = Field(default=100, ge=1, le=MOST_ENTRIES)
    cursor: Annotated[str, Field(max_length=cursors.LONGEST)] | None = None


class DistributionQuery(ViewQuery):
    bins: int = Field(default=20, ge=1, le=100)


class HistoryQuery(NoQuery):
    season: int | None = Field(default=None, ge=1, le=LAST_SEASON)
    limit: int = Field(default=500, ge=1, le=MOST_ENTRIES)


class StandingsQuery(NoQuery):
    page: int = Field(default=1, ge=1, le=10_000_000)
    limit: int = Field(default=100, ge=1, le=MOST_ENTRIES)


class NearbyQuery(NoQuery):
    lat: float = Field(ge=-85, le=85, allow_inf_nan=False)
    lon: float = Field(ge=-180, le=180, allow_inf_nan=False)
    radius: float = Field(default=50, gt=0, le=20_000, allow_inf_nan=False)
    unit: DistanceUnit = "km"
    by: Literal["distance", "rank"] = Field(
        default="distance", description="Nearest or best first."
    )
    limit: int = Field(default=50, ge=1, le=200)


class BulkQuery(NoQuery):
    atomic: bool = Field(
        default=False, description="All rows or none: one invalid row refuses all."
    )
    report: Literal["all", "errors"] = Field(
        default="all", description="`errors` leaves out the results of rows that were accepted."
    )

    @field_validator("atomic", mode="before")
    @classmethod
    def _true_or_false(cls, value: object) -> object:
        if value not in (True, False, "true", "false"):
            raise ValueError("expected true or false")
        return value


class AmongIn(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"players": ["ada", "lin"]}}
    )
    players: list[Annotated[str, Field(min_length=1, max_length=256)]] = Field(
        min_length=1, max_length=MOST_AMONG
    )


class DetailsIn(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"details": {"name": "Ada L."}}}
    )
    details: dict[str, str | int | float | bool | None] = Field(
        min_length=1, description="As in a score; null removes a detail."
    )


class CloseIn(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"season": 3}})
    season: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="Prevents closing another season than intended.",
    )
    open_next: bool | None = Field(
        default=None,
        description="Start the next season at once; by default the board's schedule decides.",
    )


class LocationIn(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"lat": 52.52, "lon": 13.4}}
    )
    lat: float = Field(ge=-85, le=85, allow_inf_nan=False)
    lon: float = Field(ge=-180, le=180, allow_inf_nan=False)
