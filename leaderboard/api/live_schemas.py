"""The live stream in the OpenAPI document: its events, which `leaderboard.live` writes, and the
ticket that opens it."""

from __future__ import annotations

from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field

from leaderboard.api.schemas import ENTRY, BoardState, Entry, Moment, example


class LiveRow(Entry):
    model_config = example(**ENTRY, previous_rank=2)
    previous_rank: int | None = Field(description="Null for a player who was not shown before.")


class LiveStandings(Schema):
    at: Moment
    season: int | None
    state: BoardState
    size: int = Field(description="The number of entries.")
    order: list[tuple[str, int]] = Field(
        description="Player and rank of all who are shown, in order."
    )
    rows: dict[str, LiveRow] = Field(
        description="By player: those that changed in a `rows` event, else all who are shown."
    )


class LivePresence(Schema):
    watching: int = Field(description="How many people have the board open.")


class LiveOutage(Schema):
    away: bool = Field(description="True while the live data cannot be reached.")


class LiveStandingsEvent(Schema):
    event: Literal["snapshot", "rows", "season"]
    id: str = Field(description="The board's sequence, for `Last-Event-ID`.")
    data: LiveStandings


class LivePresenceEvent(Schema):
    event: Literal["presence"]
    data: LivePresence


class LiveOutageEvent(Schema):
    event: Literal["redis"]
    data: LiveOutage


LiveEvent = Annotated[
    LiveStandingsEvent | LivePresenceEvent | LiveOutageEvent, Field(discriminator="event")
]


class TicketOut(Schema):
    model_config = example(ticket="WzcsImN1cCJd:1vJc3p:5Zq8…", expires_in=60)

    ticket: str = Field(description="Send it as `?ticket=` of the stream.")
    expires_in: int = Field(description="Seconds during which it can open streams.")
