"""Standings as CSV, JSON or NDJSON. `score_files` reads the same formats, and so does the API: each
row is a submission too."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Generator, Iterable, Iterator
from typing import Any
from unicodedata import category, normalize

from django.utils.translation import gettext

from leaderboard.access import aliases, erasing
from leaderboard.models import Board, Season
from leaderboard.seasons.history import masked_players, season_standings

FORMATS = ("csv", "json", "ndjson")
# Details that have a column of their own in CSV; all others share one.
COLUMNS = ("name", "country", "team", "avatar")
CSV_FIELDS = ("rank", "player", "score", "subscore", *COLUMNS, "details")


def live_rows(board: Board, season: int) -> Generator[dict[str, Any]]:
    """The running season, read in portions."""
    for found in board.engine(season).scan(500):
        entry = aliases.masked(found, with_id=True)
        yield {
            "rank": entry["rank"],
            "player": entry["user_id"],
            "score": _number(entry["score"]),
            "subscore": _number(entry.get("subscore")),
            "details": entry["metadata"],
        }


def archived_rows(season: Season) -> Generator[dict[str, Any]]:
    for standing in season_standings(season).iterator(chunk_size=2000):
        yield {
            "rank": standing.rank,
            "player": standing.player_id,
            "score": _number(standing.score),
            "subscore": _number(standing.subscore),
            "details": erasing.shown_details(standing),
        }


def public_rows(season: Season) -> Iterator[dict[str, Any]]:
    """For everyone: without the names of players who do not want to be named."""
    masked = masked_players(season)
    for row in archived_rows(season):
        if row["player"] in masked:
            row |= {"player": "", "details": {"name": gettext("Anonymous")}}
        yield row


def written(rows: Iterable[dict[str, Any]], form: str) -> Generator[str]:
    """The rows as text, in pieces."""
    if form == "csv":
        yield from _written_csv(rows)
    elif form == "ndjson":
        for row in rows:
            yield json.dumps(row, ensure_ascii=False) + "\n"
    else:
        separator = "[\n"
        for row in rows:
            yield separator + json.dumps(row, ensure_ascii=False)
            separator = ",\n"
        yield "[]\n" if separator == "[\n" else "\n]\n"


def _written_csv(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(CSV_FIELDS)
    for count, row in enumerate(rows, 1):
        details = dict(row["details"])
        shown = [_harmless(details.pop(name, "")) for name in COLUMNS]
        rest = json.dumps(details, ensure_ascii=False) if details else ""
        writer.writerow(
            [row["rank"], _harmless(row["player"]), row["score"], row["subscore"], *shown, rest]
        )
        if count % 500 == 0:
            yield _taken(buffer)
    yield _taken(buffer)


def _taken(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def _harmless(text: str) -> str:
    """A spreadsheet would run a cell that begins like a formula; a leading quote keeps it text.

    Spreadsheets skip spaces, line breaks and invisible characters before the sign, and read
    full-width signs like the plain ones. A quote that is already there gets another one, so that
    an import can tell the two apart.
    """
    for sign in text:
        if sign in "\t\r\n" or normalize("NFKC", sign) in {"=", "+", "-", "@"}:
            return f"'{text}"
        if sign != "'" and category(sign)[0] not in "ZC":
            break
    return text


def without_quote(text: str) -> str:
    """What `_harmless` was given."""
    return text[1:] if text[:1] == "'" and _harmless(text[1:]) == text else text


def _number(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() and abs(value) < 2**53 else value
