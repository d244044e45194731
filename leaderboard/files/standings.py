"""Standings as CSV, JSON or NDJSON. `files/scores.py` reads the same formats, and so does the API:
each row is a submission too."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Generator, Iterable, Iterator
from unicodedata import category, normalize

from django.utils.translation import gettext
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from leaderboard.access import aliases, erasing
from leaderboard.entries import Entry
from leaderboard.models import Board, Season
from leaderboard.seasons.history import masked_players, season_standings

FORMATS = ("csv", "json", "ndjson")
# Details that have a column of their own in CSV; all others share one.
COLUMNS = ("name", "country", "team", "avatar")
CSV_FIELDS = ("rank", "player", "score", "subscore", *COLUMNS, "details")


def live_entries(board: Board, season: int) -> Generator[Entry]:
    """The running season, read in portions."""
    for found in board.engine(season).scan(500):
        yield aliases.masked(Entry.of(found), with_id=True)


def archived_entries(season: Season) -> Generator[Entry]:
    for standing in season_standings(season).iterator(chunk_size=2000):
        yield Entry(
            standing.rank,
            standing.player_id,
            standing.score,
            erasing.shown_details(standing),
            standing.subscore,
        )


def public_entries(season: Season) -> Iterator[Entry]:
    """For everyone: without the names of players who do not want to be named."""
    masked = masked_players(season)
    for entry in archived_entries(season):
        if entry.player_id in masked:
            entry = replace(entry, player_id="", details={"name": gettext("Anonymous")})
        yield entry


def written(entries: Iterable[Entry], form: str) -> Generator[str]:
    """The entries as text, in pieces."""
    if form == "csv":
        yield from _written_csv(entries)
    elif form == "ndjson":
        for entry in entries:
            yield _json(entry) + "\n"
    else:
        separator = "[\n"
        for entry in entries:
            yield separator + _json(entry)
            separator = ",\n"
        yield "[]\n" if separator == "[\n" else "\n]\n"


def _json(entry: Entry) -> str:
    row = {
        "rank": entry.rank,
        "player": entry.player_id,
        "score": _number(entry.score),
        "subscore": _number(entry.subscore),
        "details": entry.details,
    }
    return json.dumps(row, ensure_ascii=False)


def _written_csv(entries: Iterable[Entry]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(CSV_FIELDS)
    for count, entry in enumerate(entries, 1):
        details = dict(entry.details)
        shown = [_harmless(details.pop(name, "")) for name in COLUMNS]
        rest = json.dumps(details, ensure_ascii=False) if details else ""
        numbers = [_number(entry.score), _number(entry.subscore)]
        writer.writerow([entry.rank, _harmless(entry.player_id), *numbers, *shown, rest])
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


def _number(value: float | UnsetType | None) -> float | int | None:
    """A whole number without a fraction; None for a subscore that the board does not keep."""
    if value is None or value is UNSET:
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
