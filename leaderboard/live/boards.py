"""A board as a source of live events: what pages get, and what programs get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.template.loader import get_template
from django.utils import translation
from django.utils.translation import gettext

from config.sql import ask_sql
from leaderboard import presentation
from leaderboard.live.hub import Watch
from leaderboard.live.topic import Picture, Row
from leaderboard.models import Board
from leaderboard.selectors import standings
from leaderboard.selectors.people import accounts_of
from leaderboard.selectors.standings import Standings
from sessions_app import presence

# Score, details, whether online, subscore if the board keeps one.
Content = tuple[float, tuple[tuple[str, str], ...], bool, float | None]


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
        season = found.pointer.number if found.pointer else 0
        return Picture(season, found.page.size, rows)

    async def standings(self) -> Standings:
        return await standings.atop(self.board, window=self.window)

    async def online(self, player_ids: list[str]) -> set[str]:
        return set()

    async def read_mine(self, player_ids: list[str]) -> dict[str, Any]:
        return await standings.aranks(self.board, player_ids, window=self.window)

    def encode(self, before: Picture | None, after: Picture) -> bytes:
        known = before.rows if before else {}
        data: dict[str, Any] = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "size": self.size(after.size),
        }
        order = [(player_id, row.rank) for player_id, row in after.rows.items()]
        if before is None or order != [(one, row.rank) for one, row in known.items()]:
            data["order"] = order
        changed = {
            player_id: row
            for player_id, row in after.rows.items()
            if player_id not in known or self.differs(known[player_id], row)
        }
        if changed:
            data["rows"] = self.rows(changed, known)
        return msgspec.json.encode(data)

    def encode_season(self, after: Picture) -> bytes:
        return b"{}"  # pages load themselves anew

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

    def __init__(self, board: Board, window: str, player_ids: Sequence[str] = ()) -> None:
        super().__init__(board, window)
        self.player_ids = player_ids

    async def standings(self) -> Standings:
        if not self.player_ids:
            return await super().standings()
        return await standings.asome(self.board, self.player_ids, window=self.window)

    def encode_season(self, after: Picture) -> bytes:
        return self.encode(None, after)

    def differs(self, before: Row, after: Row) -> bool:
        return before != after  # a page moves a row by the order alone, a program wants to be told

    def rows(self, changed: dict[str, Row], known: Mapping[str, Row]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for player_id, row in changed.items():
            score, details, _, subscore = row.content
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
        score, details, online, _ = row.content
        entry = {
            "rank": row.rank,
            "user_id": player_id,
            "score": score,
            "metadata": dict(details),
        }
        line = presentation.line(self.board, entry, online=online)
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
    return entry["score"], details, online, entry.get("subscore")


def watch_page(
    board: Board,
    *,
    window: str,
    language: str,
    last_sequence: int | None,
    player_id: str | None,
    viewer: str | None,
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
    )


def watch_json(
    board: Board,
    *,
    window: str = "",
    last_sequence: int | None = None,
    player_ids: Sequence[str] = (),
) -> Watch:
    """The same hub for programs: `get_hub().stream(watch_json(board))`."""
    wanted = tuple(sorted(set(player_ids)))
    view = ("json", window, wanted, board.updated_at)
    return Watch(board.slug, view, lambda: JsonSource(board, window, wanted), last_sequence)
