"""Scores and people from a CSV, JSON or NDJSON file, with every mistake named by its line.

Files come from spreadsheets as often as from programs: columns are found whatever their case and
order, CSV may use commas, semicolons or tabs, and a byte order mark is skipped.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from django.core.exceptions import ValidationError

from leaderboard.access import aliases
from leaderboard.engine import LeaderboardError, Submission
from leaderboard.engine.rules import OPERATORS
from leaderboard.engine.values import checked_number, checked_printable_id, flat_details
from leaderboard.files.standings import COLUMNS, FORMATS, without_quote
from leaderboard.models import Board, Player

ENDINGS = {form: form for form in FORMATS} | {"tsv": "csv"}
# Other names for the column `player`, if there is none of that name.
ALIASES = ("player_id", "user_id", "id")
# `rank` is in exported files and means nothing here.
KNOWN = frozenset({"player", "score", "operator", "subscore", "details", "rank", *COLUMNS})
DELIMITERS = ",;\t"

_SPACE = re.compile(r"[ \t\n\r]*")


class BadLineError(Exception):
    """A line of a file that cannot be read; the message says which and why."""


@dataclass(frozen=True)
class Line:
    """A score."""

    number: int
    submission: Submission


@dataclass(frozen=True)
class PersonLine:
    """Somebody who takes part and has no score yet."""

    number: int
    player: Player


def format_of(path: Path) -> str | None:
    return ENDINGS.get(path.suffix.lstrip(".").lower())


def read_file(path: Path, form: str, board: Board) -> Iterator[Line | PersonLine | BadLineError]:
    """Each line as a score or a person, or what is wrong with it. Blank lines are skipped."""
    with path.open("rb") as file:
        start = file.read(2)
    # Spreadsheets save "Unicode text" as UTF-16. In UTF-8, bytes that are no text become what no
    # text may hold, so that their line is named.
    wide = start in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}
    encoding, errors = ("utf-16", "replace") if wide else ("utf-8-sig", "surrogateescape")
    with path.open(encoding=encoding, errors=errors, newline="") as file:
        yield from read_lines(file, form, board)


def read_lines(
    file: IO[str], form: str, board: Board
) -> Iterator[Line | PersonLine | BadLineError]:
    for number, row in _raw(file, form):
        if isinstance(row, str):
            yield BadLineError(f"line {number}: {row}")
            continue
        try:
            yield _understood(number, row, board)
        except ValidationError as error:
            yield BadLineError(f"line {number}: {' '.join(error.messages)}")
        except (LeaderboardError, ValueError) as error:
            yield BadLineError(f"line {number}: {error}")


def _raw(file: IO[str], form: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    if form == "csv":
        yield from _table(file)
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


def _table(file: IO[str]) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The rows of a CSV file, whatever it puts between two values."""
    first, passed = file.readline(), 1
    while first and not first.strip():
        first, passed = file.readline(), passed + 1
    delimiter = max(DELIMITERS, key=lambda sign: len(KNOWN & set(_header(first, sign))))
    columns = _header(first, delimiter)
    if mistake := _mistake(columns):
        yield passed, mistake
        return
    reader = csv.reader(file, delimiter=delimiter)
    try:
        for values in reader:
            number = reader.line_num + passed
            if not any(value.strip() for value in values):
                continue
            if any(value.strip() for value in values[len(columns) :]):
                yield number, "there are more values than columns"
                continue
            filled = values + [""] * (len(columns) - len(values))
            yield (
                number,
                {
                    name: without_quote(value)
                    for name, value in zip(columns, filled, strict=False)
                    if name
                },
            )
    except csv.Error as error:
        yield reader.line_num + passed, str(error)


def _header(line: str, delimiter: str) -> list[str]:
    return _column_names(next(csv.reader([line], delimiter=delimiter), []))


def _column_names(texts: Iterable[str]) -> list[str]:
    """`Player ID` is `player`, `Score` is `score`."""
    names = [re.sub(r"[\s_-]+", "_", text.strip().casefold()) for text in texts]
    if "player" not in names:
        alias = next((name for name in ALIASES if name in names), None)
        names = ["player" if name == alias else name for name in names]
    return names


def _mistake(columns: list[str]) -> str:
    """What is wrong with the first line, if anything."""
    twice = sorted({name for name in columns if name and columns.count(name) > 1})
    if twice:
        return f"two columns are named {' and '.join(twice)}"
    found = f"it has: {', '.join(filter(None, columns)) or 'nothing'}"
    if not {"player", "name"} & set(columns):
        return f"the first line must name a column player or name; {found}"
    if "score" not in columns and set(columns) - KNOWN - {""}:
        # A list of people has no scores, but then every column is one that we know.
        return f"the first line must name a column score; {found}"
    return ""


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
        raise json.JSONDecodeError("brackets are nested too deeply", text, *at or (0,)) from None


def _understood(number: int, given: dict[str, Any], board: Board) -> Line | PersonLine:
    row = dict(zip(_column_names(given), given.values(), strict=True))
    player_id, details = _player_id(row), _details(row)
    if row.get("score") in ("", None):
        return PersonLine(number, _person(player_id, details))
    submission = Submission(
        player_id,
        _score(row["score"], board),
        _operator(row.get("operator")),
        _subscore(row.get("subscore"), board),
        details or None,
    )
    flat_details(details, tuple(board.groups))
    return Line(number, submission)


def _player_id(row: dict[str, Any]) -> str:
    """The player, or else the name: on a list of names everybody is called as they are."""
    given = row.get("player")
    if given in ("", None):
        given = str(row.get("name") or "").strip()
    if not isinstance(given, str) or not given.strip():
        raise ValueError("the player is missing or not text")
    return checked_printable_id(given)


def _person(player_id: str, details: Mapping[str, Any]) -> Player:
    player = Player(
        pk=player_id,
        display_name=details.get("name") or "",
        country=details.get("country") or "",
        team=details.get("team") or "",
        avatar=details.get("avatar") or "",
    )
    player.clean_fields()
    return player


def _score(given: Any, board: Board) -> float:
    if isinstance(given, str) and "," in given:
        raise ValueError(f"the score {given} has a comma; write 1234.5 for a number")
    score = checked_number(given, "score")
    if board.lowest_score is not None and score < board.lowest_score:
        raise ValueError(f"the score {score:g} is below the board's lowest, {board.lowest_score:g}")
    if board.highest_score is not None and score > board.highest_score:
        raise ValueError(
            f"the score {score:g} is above the board's highest, {board.highest_score:g}"
        )
    return score


def _operator(given: Any) -> str | None:
    operator = str(given or "").strip().lower()
    if operator and operator not in OPERATORS:
        raise ValueError(f"operator must be one of {', '.join(OPERATORS)}")
    return operator or None


def _subscore(given: Any, board: Board) -> float | None:
    if given in ("", None):
        return None
    if not board.subscore_order:
        raise ValueError("this board has no second number")
    return checked_number(given, "subscore")


def _details(row: dict[str, Any]) -> Mapping[str, Any]:
    given = row.get("details") or {}
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except json.JSONDecodeError:
            raise ValueError("details is not a JSON object") from None
    if not isinstance(given, dict):
        raise ValueError("details is not a JSON object")
    own = {name: str(row[name]) for name in COLUMNS if row.get(name)}
    return aliases.from_outside(own | given) or {}
