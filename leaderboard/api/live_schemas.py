"""The live stream in the OpenAPI document: its events, which `leaderboard.live` writes, and the
ticket that opens it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from leaderboard.api.schemas import REF, BoardState, Moment, documented
from leaderboard.entries import Entry


class LiveRow(Entry, gc=False, kw_only=True):
    previous_rank: Annotated[
        int | None, Meta(description="Null for a player who was not shown before.")
    ]


class LiveStandings(msgspec.Struct):
    at: Moment
    season: int | None
    state: BoardState
    size: Annotated[int, Meta(description="The number of entries.")]
    order: Annotated[
        list[tuple[str, int]],
        Meta(description="Player and rank of all who are shown, in order."),
    ]
    rows: Annotated[
        dict[str, LiveRow],
        Meta(
            description="By player: those that changed in a `rows` event, else all who are shown."
        ),
    ]


class LivePresence(msgspec.Struct):
    watching: Annotated[int, Meta(description="How many people have the board open.")]


class LiveOutage(msgspec.Struct):
    away: Annotated[bool, Meta(description="True while the live data cannot be reached.")]


class LiveStandingsEvent(msgspec.Struct):
    event: Literal["snapshot", "rows", "season"]
    id: Annotated[str, Meta(description="The board's sequence, for `Last-Event-ID`.")]
    data: LiveStandings


class LivePresenceEvent(msgspec.Struct):
    event: Literal["presence"]
    data: LivePresence


class LiveOutageEvent(msgspec.Struct):
    event: Literal["redis"]
    data: LiveOutage


EVENTS: dict[str, type[msgspec.Struct]] = {
    "snapshot": LiveStandingsEvent,
    "rows": LiveStandingsEvent,
    "season": LiveStandingsEvent,
    "presence": LivePresenceEvent,
    "redis": LiveOutageEvent,
}
_refs = {name: REF.format(name=kind.__name__) for name, kind in EVENTS.items()}
LIVE_EVENT: dict[str, Any] = {
    "oneOf": [{"$ref": ref} for ref in dict.fromkeys(_refs.values())],
    "discriminator": {"propertyName": "event", "mapping": _refs},
}


class TicketOut(msgspec.Struct):
    ticket: Annotated[str, Meta(description="Send it as `?ticket=` of the stream.")]
    expires_in: Annotated[int, Meta(description="Seconds during which it can open streams.")]


TICKET = documented(TicketOut("WzcsImN1cCJd:1vJc3p:5Zq8…", 60))
