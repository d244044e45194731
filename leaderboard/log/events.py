"""The entries of a board's stream, and the rows that they become in SQL."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from leaderboard.models.bulk import storable, storable_json


class News(msgspec.Struct, frozen=True):
    """One change of a board, as `events.lua` writes it."""

    op: str
    seq: int
    at: int  # microseconds
    id: str | None = None
    season: int | None = None
    source: str = ""
    operator: str = ""
    value: float | None = None
    score: float | None = None
    subscore: float | None = None
    given_subscore: float | None = None
    rank: int | None = None
    previous_rank: int | None = None
    key: str = ""
    details: dict[str, str | None] | None = None  # the value None removes a detail
    trimmed: list[str] | None = None
    limit: int | None = None


_decode_news = msgspec.json.Decoder(News).decode


@dataclass(frozen=True)
class Event:
    """One entry of a stream."""

    stream_id: str
    raw: dict[bytes, bytes]

    @cached_property
    def news(self) -> News:
        return _decode_news(self.raw[b"event"])

    @property
    def player_id(self) -> str:
        return storable(self.news.id or "")

    def row(self, board_id: int) -> tuple[Any, ...]:
        news = self.news
        data = {
            name: value
            for name in ("details", "trimmed", "given_subscore", "limit")
            if (value := getattr(news, name)) is not None
        }
        return (
            board_id,
            news.season or 0,
            news.seq,
            self.stream_id,
            news.at,
            news.op,
            self.player_id,
            news.value,
            news.operator,
            news.score,
            news.subscore,
            news.rank,
            storable(news.source)[:64],
            storable(news.key),
            storable_json(data) if data else None,
        )


def events_of(entries: Any) -> list[Event]:
    # A claimed entry that has been trimmed has no fields.
    return [Event(stream_id.decode(), fields) for stream_id, fields in entries if fields]
