"""A board as a source of live events: what pages get, and what programs get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.template.loader import get_template
from django.utils import translation
from django.utils.translation import gettext

from config.sql import ask_sql
from config.times import utc_text
from leaderboard import presentation
from leaderboard.access import aliases
from leaderboard.access.people import accounts_of
from leaderboard.access.rights import Rights
from leaderboard.boards import final, standings
from leaderboard.boards.standings import Slice, Standings
from leaderboard.live.feed import Watch
from leaderboard.live.players import PlayersReader
from leaderboard.live.topic import Picture, Row
from leaderboard.models import Board
from sessions_app import presence

# Score, details, whether online, subscore if the board keeps one, whether not to be named.
Content = tuple[float, tuple[tuple[str, str], ...], bool, float | None, bool]


class BoardSource:
    """The first page of a board's season or window. Subclasses say how it looks on the wire."""

    def __init__(self, board: Board, window: str) -> None:
        self.board = board
        self.window = window

    async def read(self) -> Picture:
        found = await self.standings()
        entries = found.page.entries
        online = await self.online([entry["user_id"] for entry in entries])
        rows = {
            entry["user_id"]: Row(entry["rank"], _content(entry, entry["user_id"] in online))
            for entry in entries
        }
        if found.pointer is None:
            return Picture(0, found.page.size, rows, "planned")
        return Picture(found.pointer.number, found.page.size, rows, found.pointer.state)

    async def standings(self) -> Standings:
        """The newest standings; of a season that is over, the final ones."""
        found = await self.running()
        if self.window or not final.is_over(found):
            return found
        return await ask_sql(self.final, found)

    async def running(self) -> Standings:
        return await standings.atop(self.board, window=self.window)

    def final(self, found: Standings) -> Standings:
        return final.page(self.board, found)

    async def online(self, player_ids: list[str]) -> set[str]:
        return set()

    async def read_mine(self, player_ids: list[str]) -> dict[str, Any]:
        return await standings.aranks(self.board, player_ids, window=self.window)

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

    def encode_mine(self, mine: Any) -> bytes:
        return msgspec.json.encode(mine)


class JsonSource(BoardSource):
    """For programs: the entries as the API gives them, of the top or of given players."""

    def __init__(
        self, board: Board, window: str, player_ids: Sequence[str] = (), *, with_ids: bool = False
    ) -> None:
        super().__init__(board, window)
        self.player_ids = player_ids
        self.with_ids = with_ids
        if player_ids:
            self.reader = PlayersReader.of(board, window)

    async def running(self) -> Standings:
        if not self.player_ids:
            found = await standings.atop(self.board, window=self.window, with_ids=True)
            entries = aliases.masked_all(found.page.entries, with_id=self.with_ids)
            return replace(found, page=replace(found.page, entries=entries))
        names = self.player_ids
        if self.with_ids:
            found = await self.reader.read(names)
            entries = aliases.masked_all(found.page.entries, with_id=True)
        else:
            ids = [await aliases.afind(self.board, name) or name for name in names]
            found = await self.reader.read(ids)
            entries = aliases.masked_some(found.page.entries, names)
        return replace(found, page=Slice(len(entries), entries))

    def final(self, found: Standings) -> Standings:
        if not self.player_ids:
            return super().final(found)
        return final.some(self.board, found, self.player_ids)

    def differs(self, before: Row, after: Row) -> bool:
        return before != after  # a page moves a row by the order alone, a program wants to be told

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
        self._accounts: dict[str, int | None] = {}

    async def online(self, player_ids: list[str]) -> set[str]:
        unknown = [player_id for player_id in player_ids if player_id not in self._accounts]
        if unknown:
            found = await ask_sql(accounts_of, unknown)
            # Players without an account are remembered too; an account they make later shows
            # when the topic is opened anew.
            self._accounts |= {player_id: found.get(player_id) for player_id in unknown}
        accounts = {
            account: player_id
            for player_id in player_ids
            if (account := self._accounts[player_id]) is not None
        }
        here = await presence.aonline_among(accounts)
        return {accounts[account] for account in here}

    def encode(self, before: Picture | None, after: Picture) -> bytes:
        with translation.override(self.language):
            return super().encode(before, after)

    def size(self, size: int) -> Any:
        return presentation.players_text(size)

    def rows(self, changed: dict[str, Row], known: Mapping[str, Row]) -> dict[str, Any]:
        return {player_id: self._draw(player_id, row) for player_id, row in changed.items()}

    def _draw(self, player_id: str, row: Row) -> str:
        score, details, online, _, masked = row.content
        entry = {
            "rank": row.rank,
            "user_id": player_id,
            "score": score,
            "metadata": dict(details),
        }
        line = presentation.line(self.board, entry, online=online, url="" if masked else None)
        html: str = self.template.render({"row": line})
        return html.strip()

    def encode_mine(self, mine: Any) -> bytes:
        with translation.override(self.language):
            text = gettext("You are at rank %(rank)s with %(score)s") % {
                "rank": presentation.number_text(mine["rank"]),
                "score": presentation.score_text(self.board, mine["score"]),
            }
        return msgspec.json.encode({"rank": mine["rank"], "text": text})


def _content(entry: dict[str, Any], online: bool) -> Content:
    details = tuple(sorted(entry["metadata"].items()))
    return entry["score"], details, online, entry.get("subscore"), entry.get("masked", False)


def watch_page(
    board: Board,
    *,
    window: str,
    language: str,
    last_sequence: int | None,
    player_id: str | None,
    viewer: str | None,
    session: str = "",
    user_id: int | None = None,
    rights: Rights = None,
) -> Watch:
    """What a page's stream asks the hub for."""
    # Edited rules or another language make another topic; the old one ends with its viewers.
    view = ("html", window, language, board.updated_at)
    return Watch(
        board.slug,
        view,
        lambda: HtmlSource(board, window, language),
        last_sequence,
        player_id,
        viewer,
        session,
        user_id,
        rights,
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
    view = ("json", window, wanted, with_ids, board.updated_at)
    return Watch(
        board.slug,
        view,
        lambda: JsonSource(board, window, wanted, with_ids=with_ids),
        last_sequence,
        owner=owner if wanted else "",
    )
