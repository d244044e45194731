"""Standings as CSV, JSON or NDJSON, out of Rostrum and into it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from django.utils.translation import gettext

from leaderboard.engine import LeaderboardError, Submission
from leaderboard.engine.rules import OPERATORS
from leaderboard.engine.values import checked_number, checked_printable_id, flat_details
from leaderboard.models import Board, Season
from leaderboard.selectors.history import masked_players, season_standings

FORMATS = ("csv", "json", "ndjson")
# Details that have a column of their own in CSV; all others share one.
COLUMNS = ("name", "country", "team", "avatar")
CSV_FIELDS = ("rank", "player_id", "score", "subscore", *COLUMNS, "details")

_SPACE = re.compile(r"[ \t\n\r]*")


class BadLineError(Exception):
    """A line of a file that makes no sense; the message says which and why."""


@dataclass(frozen=True)
class Line:
    number: int
    submission: Submission


def live_rows(board: Board, season: int) -> Generator[dict[str, Any]]:
    """The running season, read in portions."""
    for entry in board.engine(season).scan(500):
        yield {
            "rank": entry["rank"],
            "player_id": entry["user_id"],
            "score": _number(entry["score"]),
            "subscore": _number(entry.get("subscore")),
            "details": entry["metadata"],
        }


def archived_rows(season: Season) -> Generator[dict[str, Any]]:
    for standing in season_standings(season).iterator(chunk_size=2000):
        yield {
            "rank": standing.rank,
            "player_id": standing.player_id,
            "score": _number(standing.score),
            "subscore": _number(standing.subscore),
            "details": standing.details,
        }


def public_rows(season: Season) -> Iterator[dict[str, Any]]:
    """For everyone: without the names of players who do not want to be named."""
    masked = masked_players(season)
    for row in archived_rows(season):
        if row["player_id"] in masked:
            row |= {"player_id": "", "details": {"name": gettext("Anonymous")}}
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
            [row["rank"], _harmless(row["player_id"]), row["score"], row["subscore"], *shown, rest]
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
    """A spreadsheet would run a cell that begins like a formula; a leading quote keeps it text."""
    return f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t", "\r"} else text


def _as_it_was(text: str | None) -> str:
    text = text or ""
    return text[1:] if text[:1] == "'" and _harmless(text[1:]) == text else text


def _number(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() and abs(value) < 2**53 else value


def read_lines(file: IO[str], form: str, board: Board) -> Iterator[Line | BadLineError]:
    """Each line as a submission, or what is wrong with it. Blank lines are skipped."""
    for number, row in _raw(file, form):
        if isinstance(row, str):
            yield BadLineError(f"line {number}: {row}")
            continue
        try:
            yield Line(number, _submission(row, board))
        except (LeaderboardError, ValueError) as error:
            yield BadLineError(f"line {number}: {error}")


def _raw(file: IO[str], form: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    if form == "csv":
        reader = csv.DictReader(file)
        missing = {"player_id", "score"} - set(reader.fieldnames or ())
        if missing:
            lacking = " and ".join(sorted(missing))
            yield 1, f"the first line must name the columns player_id and score; it lacks {lacking}"
            return
        try:
            for row in reader:
                extra = row.pop(None, None)
                if extra:
                    yield reader.line_num, "there are more values than columns"
                else:
                    yield reader.line_num, {key: _as_it_was(row[key]) for key in row}
        except csv.Error as error:
            yield reader.line_num, str(error)
        return
    if form == "json":
        try:
            yield from _listed(file.read())
        except json.JSONDecodeError as error:
            yield error.lineno, f"not JSON: {error.msg}"
        return
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            row = _shallow(json.loads, line)
        except json.JSONDecodeError as error:
            yield number, f"not JSON: {error.msg}"
            continue
        yield number, row if isinstance(row, dict) else "expected an object"


def _listed(text: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """What a JSON list holds, each with the line on which it begins."""
    decode = json.JSONDecoder().raw_decode
    at, line, counted = _past_space(text, 0), 1, 0
    if text[at : at + 1] != "[":
        _shallow(json.loads, text)
        yield 1, "expected a list of objects"
        return
    at = _past_space(text, at + 1)
    sign = "]" if text[at : at + 1] == "]" else ","
    at = _past_space(text, at + 1) if sign == "]" else at
    while sign == ",":
        line, counted = line + text.count("\n", counted, at), at
        row, at = _shallow(decode, text, at)
        yield line, row if isinstance(row, dict) else "expected an object"
        at = _past_space(text, at)
        sign = text[at : at + 1]
        if sign not in {",", "]"}:
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _past_space(text, at + 1)
    if at < len(text):
        raise json.JSONDecodeError("Extra data", text, at)


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _shallow(decode: Callable[..., Any], text: str, *at: int) -> Any:
    """Python's decoder gives up on a thousand brackets within each other in its own way."""
    try:
        return decode(text, *at)
    except RecursionError:
        raise json.JSONDecodeError(
            "too many brackets within each other", text, *at or (0,)
        ) from None


def _submission(row: dict[str, Any], board: Board) -> Submission:
    player_id = row.get("player_id")
    if not isinstance(player_id, str):
        raise ValueError("player_id is missing or not text")
    score = checked_number(_filled(row.get("score")), "score")
    if board.lowest_score is not None and score < board.lowest_score:
        raise ValueError(f"the score {score:g} is below the board's lowest, {board.lowest_score:g}")
    if board.highest_score is not None and score > board.highest_score:
        raise ValueError(
            f"the score {score:g} is above the board's highest, {board.highest_score:g}"
        )
    operator = row.get("operator") or None
    if operator is not None and operator not in OPERATORS:
        raise ValueError(f"operator must be one of {', '.join(OPERATORS)}")
    subscore = row.get("subscore")
    if subscore in ("", None):
        subscore = None
    elif not board.subscore_order:
        raise ValueError("this board keeps no second number")
    else:
        subscore = checked_number(subscore, "subscore")
    details = _details(row)
    flat_details(details, tuple(board.groups))
    return Submission(checked_printable_id(player_id), score, operator, subscore, details or None)


def _filled(value: Any) -> Any:
    if value in ("", None):
        raise ValueError("score is missing")
    return value


def _details(row: dict[str, Any]) -> dict[str, str]:
    given = row.get("details") or {}
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except json.JSONDecodeError:
            raise ValueError("details is not a JSON object") from None
    if not isinstance(given, dict):
        raise ValueError("details is not a JSON object")
    details = {str(name): str(value) for name, value in given.items()}
    return {name: row[name] for name in COLUMNS if row.get(name)} | details
