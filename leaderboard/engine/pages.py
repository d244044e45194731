"""Many reads of a board in one call, each possibly as the caller has it already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from config.redis.calls import Call
from leaderboard.engine.board import Operations
from leaderboard.engine.functions import LIBRARY
from leaderboard.engine.positions import Position, skipped
from leaderboard.engine.values import checked_count, checked_printable_id
from leaderboard.entries import Entry

PAGES = LIBRARY["read_pages"]


class Wanted(NamedTuple):
    """A run of entries, as `runs.lua` describes them."""

    what: str
    most: int
    start: int | str


def page(offset: int | Position, count: int) -> Wanted:
    return Wanted("page", checked_count(count, "count"), skipped(offset))


def around(user_id: str, count: int) -> Wanted:
    return Wanted("user", checked_count(count, "count"), checked_printable_id(user_id))


def player(user_id: str, count: int) -> Wanted:
    """As `around`, and how many have a better score."""
    return Wanted("player", checked_count(count, "count"), checked_printable_id(user_id))


class RawEntry(Entry, gc=False):
    """An entry whose details pass as the JSON they came in: taking them apart only to put them
    together again would be most of the work."""

    details: msgspec.Raw  # type: ignore[assignment]


class Run(msgspec.Struct, array_like=True):
    """A run that was read: the size of the board, how many match, and the entries from `first`."""

    size: int
    matching: int
    first: float  # an offset of many digits comes with an exponent
    entries: list[RawEntry] | None
    follows: str | bool = False  # of a page that others follow: see `last_position`


class Reply(msgspec.Struct, array_like=True):
    """The state of a board, and its runs: False where the player is not there, True where nothing
    has changed. False for all when `season` is not the one that was asked for."""

    sequence: int
    season: int | None
    runs: list[Run | bool] | bool


def pages_call(board: Operations, season: int, runs: Sequence[tuple[Wanted, int | None]]) -> Call:
    """Read `runs` of a season or one of its windows; each with the sequence it is known for."""
    args: list[Any] = [board.rules.text, season]
    for (what, count, start), known in runs:
        args += (what, count, start, "" if known is None else known)
    return Call(PAGES, board._read_keys, args)


_decode = msgspec.json.Decoder(Reply, strict=False).decode  # some numbers come as text


def read_pages(reply: bytes) -> Reply:
    # Every slash comes escaped, which is allowed but hard to read.
    return _decode(reply.replace(b"\\/", b"/"))
