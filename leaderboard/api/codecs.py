"""Strict JSON in: no NaN, no unknown fields, no name twice in one object.

msgspec refuses the first two. It takes the last of two equal names without an error, and a client
that sends two scores in one object has a bug.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from leaderboard.api.errors import ApiError
from leaderboard.engine.rules import OPERATORS

T = TypeVar("T")

_PLACE = re.compile(r" - at `(?:key in )?\$\.?(?P<path>[^`]*)`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>[^`]*)`")
_MISSING = re.compile(r"Object missing required field `(?P<name>[^`]*)`")
_INDEX = re.compile(r"\[([^\]]*)\]")


def decode(decoder: msgspec.json.Decoder[T], body: bytes, prefix: str = "") -> T:
    """The body as `decoder` describes it. `prefix` leads the field's path in a refusal."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise _invalid(str(error), prefix) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise malformed(str(error), prefix) from None
    except RecursionError:
        raise malformed("it is nested too deeply", prefix) from None


def malformed(reason: str, prefix: str = "") -> ApiError:
    what = "row" if prefix else "body"
    return ApiError(
        400, "malformed_json", f"The {what} is not JSON: {reason}.", field=prefix or None
    )


def _invalid(message: str, prefix: str) -> ApiError:
    place = _PLACE.search(message)
    path = place["path"] if place else ""
    reason = message[: place.start()] if place else message
    code = "invalid_value"
    if found := _UNKNOWN.match(reason):
        code, path, reason = "unknown_field", _join(path, found["name"]), "This field is unknown"
    elif found := _MISSING.match(reason):
        code, path, reason = "missing_field", _join(path, found["name"]), "This field is missing"
    elif reason.startswith("Invalid enum value"):  # only an operator is one of several words
        reason += f"; choose one of {', '.join(OPERATORS)}"
    path = _INDEX.sub(r".\1", path).strip(".")
    return ApiError(422, code, f"{reason}.", field=_join(prefix, path) or None)


def _join(first: str, second: str) -> str:
    return f"{first}.{second}" if first and second else first or second


def names_differ(body: bytes, names: int) -> bool:
    """Whether it is plain that no object in `body`, already decoded and found to hold `names` names
    in all, has one of them twice. False only says that it takes a closer look.

    Without a backslash a quote only opens or closes a string, and without a blank before a colon
    every name is followed by `":`; a string may add to that count, nothing can take from it.
    """
    return (
        body.count(b'":') == names
        and b"\\" not in body
        and b" :" not in body
        and b"\n:" not in body
        and b"\t:" not in body
        and b"\r:" not in body
    )


def refuse_repeated_names(body: bytes, names: int, prefix: str = "") -> None:
    """Raise when an object in `body`, with `names` names in all, has one of them twice."""
    if names_differ(body, names):
        return
    try:
        json.loads(body, object_pairs_hook=_unique)
    except RepeatedNameError as error:
        raise error.refusal(prefix) from None


class RepeatedNameError(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def refusal(self, prefix: str = "") -> ApiError:
        return ApiError(
            422,
            "duplicate_field",
            f"The name {self.name!r} appears twice in one object.",
            field=_join(prefix, self.name),
        )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:  # once through, however many they are
        if name in found:
            raise RepeatedNameError(name)
        found[name] = value
    return found


_anything = msgspec.json.Decoder()


def decode_anything(body: bytes) -> Any:
    """A body of any shape, for those who check it themselves."""
    value = decode(_anything, body)
    try:
        json.loads(body, object_pairs_hook=_unique)
    except RepeatedNameError as error:
        raise error.refusal() from None
    return value


def ndjson_lines(body: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, with their numbers from 1."""
    for number, line in enumerate(body.split(b"\n"), 1):
        if stripped := line.strip():
            yield number, stripped
