"""A board as a source of live events: what pages get, and what programs get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import msgspec
from django.template.loader import get_template
from django.utils import translation
from django.utils.translation import gettext
from msgspec import UNSET

from config.sql import ask_sql
from config.times import utc_text
from leaderboard import presentation
from leaderboard.access import aliases
from leaderboard.boards import final
from leaderboard.boards.standings import Slice, Standings
from leaderboard.entries import Entry, UnnamedEntry
from leaderboard.live.feed import Visitor, Watch
from leaderboard.live.shared import SharedReads
from leaderboard.live.topic import Picture, Row
from leaderboard.models import Board

# Score, details, whether online, subscore if the board keeps one, whether not to be named.
Content = tuple[float, tuple[tuple[str, str], ...], bool, float | None, bool]


class BoardSource:
    """The first page of a board's season or window; subclasses decide who is named and encode it.

    Sources of one board and window that read at the same time share the read.
    """

    def __init__(self, board: Board, window: str) -> None:
        self.board = board
        self.window = window

    @cached_property
    def shared(self) -> SharedReads:
        return SharedReads.of(self.board, self.window)

    async def read(self) -> Picture:
        found = await self.standings()
        entries = found.page.entries
        online = await self.online([entry.player_id for entry in entries])
        rows = {
            entry.player_id: Row(entry.rank, _content(entry, entry.player_id in online))
            for entry in entries
        }
        if found.pointer is None:
            return Picture(0, found.page.size, rows, "planned")
        return Picture(found.pointer.number, found.page.size, rows, found.pointer.state)

    async def standings(self) -> Standings:
        return _masked(await self.shared.top())

    async def online(self, player_ids: list[str]) -> set[str]:
        return set()

    async def read_mine(self, player_ids: list[str]) -> dict[str, Entry]:
        found = await self.shared.players(player_ids)
        return {entry.player_id: entry for entry in found.page.entries}

    def encode(self, before: Picture | None, after: Picture) -> bytes:
        known = before.rows if before else {}
        changed = {
            player_id: row
            for player_id, row in after.rows.items()
            if player_id not in known or self.differs(known[player_id], row)
        }
        return msgspec.json.encode(
            {
                "at": utc_text(datetime.now(UTC)),
                "season": after.season or None,
                "state": after.state,
                "size": self.size(after.size),
                "order": [(player_id, row.rank) for player_id, row in after.rows.items()],
                "rows": self.rows(changed, known),
            }
        )

    def differs(self, before: Row, after: Row) -> bool:
        return bool(before.content != after.content)

    def size(self, size: int) -> Any:
        return size

    def rows(self, changed: dict[str, Row], known: Mapping[str, Row]) -> dict[str, Any]:
        raise NotImplementedError

    def encode_mine(self, mine: Entry) -> bytes:
        return msgspec.json.encode({"rank": mine.rank, "score": mine.score})


class JsonSource(BoardSource):
    """For programs: the entries as the API gives them, of the top or of given players."""

    def __init__(
        self, board: Board, window: str, player_ids: Sequence[str] = (), *, with_ids: bool = False
    ) -> None:
        super().__init__(board, window)
        self.player_ids = player_ids
        self.with_ids = with_ids

    async def standings(self) -> Standings:
        if not self.player_ids:
            return _masked(await self.shared.top(), with_ids=self.with_ids)
        found = await self._players()
        if self.window or not final.is_over(found):
            return found
        return await ask_sql(final.some, self.board, found, self.player_ids)

    async def _players(self) -> Standings:
        names = self.player_ids
        if self.with_ids:
            return _masked(await self.shared.players(names), with_ids=True)
        ids = [await aliases.afind(self.board, name) or name for name in names]
        found = await self.shared.players(ids)
        entries = aliases.masked_some(found.page.entries, names)
        return replace(found, page=Slice(len(entries), entries))

    def differs(self, before: Row, after: Row) -> bool:
        return before != after  # a page moves rows by `order` alone, a program wants each new rank

    def rows(self, changed: dict[str, Row], known: Mapping[str, Row]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for player_id, row in changed.items():
            score, details, _, subscore, _ = row.content
            found[player_id] = {
                "player": player_id,
                "rank": row.rank,
                "previous_rank": known[player_id].rank if player_id in known else None,
                "score": score,
                "details": dict(details),
            }
            if subscore is not None:
                found[player_id]["subscore"] = subscore
        return found


class HtmlSource(BoardSource):
    """For pages: table rows, drawn by the same template as the page itself."""

    def __init__(self, board: Board, window: str, language: str) -> None:
        super().__init__(board, window)
        self.language = language
        self.template: Any = get_template("leaderboard/row.html")

    async def online(self, player_ids: list[str]) -> set[str]:
        return await self.shared.online(player_ids)

    def encode(self, before: Picture | None, after: Picture) -> bytes:
        with translation.override(self.language):
            return super().encode(before, after)

    def size(self, size: int) -> Any:
        return presentation.players_text(size)

    def rows(self, changed: dict[str, Row], known: Mapping[str, Row]) -> dict[str, Any]:
        return {player_id: self._draw(player_id, row) for player_id, row in changed.items()}

    def _draw(self, player_id: str, row: Row) -> str:
        score, details, online, _, masked = row.content
        kind = UnnamedEntry if masked else Entry
        entry = kind(row.rank, player_id, score, dict(details))
        line = presentation.line(self.board, entry, online=online)
        html: str = self.template.render({"row": line})
        return html.strip()

    def encode_mine(self, mine: Entry) -> bytes:
        with translation.override(self.language):
            text = gettext("You are at rank %(rank)s with %(score)s") % {
                "rank": presentation.number_text(mine.rank),
                "score": presentation.score_text(self.board, mine.score),
            }
        return msgspec.json.encode({"rank": mine.rank, "text": text})


def _masked(found: Standings, *, with_ids: bool = False) -> Standings:
    entries = aliases.masked_all(found.page.entries, with_id=with_ids)
    return replace(found, page=replace(found.page, entries=entries))


def _content(entry: Entry, online: bool) -> Content:
    details = tuple(sorted(entry.details.items()))
    subscore = None if entry.subscore is UNSET else entry.subscore
    return entry.score, details, online, subscore, not entry.has_page


def watch_page(
    board: Board, *, window: str, language: str, last_sequence: int | None, visitor: Visitor
) -> Watch:
    """What a page's stream asks the hub for."""
    return Watch(
        slug=board.slug,
        # Edited rules or another language make another topic; the old one ends with its viewers.
        view=("html", window, language, board.updated_at),
        source=lambda: HtmlSource(board, window, language),
        last_sequence=last_sequence,
        visitor=visitor,
    )


def watch_json(
    board: Board,
    *,
    window: str = "",
    last_sequence: int | None = None,
    player_ids: Sequence[str] = (),
    owner: str = "",
    with_ids: bool = False,
) -> Watch:
    """The same hub for programs: `get_hub().stream(watch_json(board))`; `with_ids` for those who
    may know the ids of anonymous players."""
    wanted = tuple(sorted(set(player_ids)))
    return Watch(
        slug=board.slug,
        view=("json", window, wanted, with_ids, board.updated_at),
        source=lambda: JsonSource(board, window, wanted, with_ids=with_ids),
        last_sequence=last_sequence,
        owner=owner if wanted else "",
    )
