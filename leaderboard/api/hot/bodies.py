"""The bodies of score submissions: their shape for the decoder and for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from leaderboard.api import codecs
from leaderboard.api.errors import ApiError, body_too_large
from leaderboard.engine import Submission

MOST_ROWS = 10_000
# Bounds that no honest body meets, known before any of it is decoded: decoding holds up the loop.
LARGEST_ROW = 64 * 1024  # an id and details at their longest, every character escaped
MOST_VALUES = MOST_ROWS * 40  # each row with all its fields and details

Value = str | int | float | bool | None


class ScoreIn(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One score of one player."""

    player: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=256,
            description="The player's id in your game: any text of up to 256 bytes.",
        ),
    ]
    score: Annotated[float, Meta(description="Any finite number.")]
    operator: Annotated[
        Literal["set", "best", "sum"] | UnsetType,
        Meta(description="Instead of the board's own operator."),
    ] = UNSET
    subscore: Annotated[
        float | UnsetType | None,
        Meta(
            description="Decides between equal scores on boards with a second number. A player "
            "without one ranks behind those who have it."
        ),
    ] = UNSET
    details: Annotated[
        dict[str, Value] | UnsetType | None,
        Meta(
            description="Name, country (an ISO 3166-1 code such as GB), team, avatar or other "
            "details; up to 32. All are stored as text; null removes one."
        ),
    ] = UNSET

    rank: Annotated[int | UnsetType | None, Meta(description="Ignored; exported rows have it.")] = (
        UNSET
    )

    def names(self) -> int:
        """How many names the JSON had, those of the details included."""
        count = 2
        if self.operator is not UNSET:
            count += 1
        if self.subscore is not UNSET:
            count += 1
        if self.details is not UNSET:
            count += 1 + len(self.details or ())
        if self.rank is not UNSET:
            count += 1
        return count

    def submission(self, idempotency_key: str | None, source: str) -> Submission:
        return Submission(
            self.player,
            self.score,
            None if self.operator is UNSET else self.operator,
            None if self.subscore is UNSET else self.subscore,
            None if self.details is UNSET else self.details,
            idempotency_key,
            source,
        )


_score = msgspec.json.Decoder(ScoreIn)
_rows = msgspec.json.Decoder(list[msgspec.Raw])
_scores = msgspec.json.Decoder(list[ScoreIn])

Row = ScoreIn | ApiError


def read_score(body: bytes) -> ScoreIn:
    if len(body) > LARGEST_ROW:
        raise body_too_large()
    score = codecs.decode(_score, body)
    codecs.refuse_repeated_names(body, score.names())
    return score


def read_rows(body: bytes, *, lines: bool) -> Sequence[Row]:
    """The rows of a bulk submission, each what it says or why it cannot be: JSON array or NDJSON.

    The body as a whole is refused when it is not JSON, empty, or too long.
    """
    if body.count(b"\n" if lines else b",") > MOST_VALUES:
        raise body_too_large()
    parts: Sequence[bytes | msgspec.Raw] = _lines(body) if lines else _elements(body)
    if not parts:
        raise ApiError(422, "no_rows", "The body has no rows.")
    if len(parts) > MOST_ROWS:
        raise ApiError(
            422, "too_many_rows", f"There are {len(parts)} rows; one request can have {MOST_ROWS}."
        )
    scores = _read_at_once(body, parts, lines=lines)
    return scores or [_read_row(bytes(part), number) for number, part in enumerate(parts)]


def _lines(body: bytes) -> list[bytes]:
    return [line for _, line in codecs.ndjson_lines(body)]


def _elements(body: bytes) -> list[msgspec.Raw]:
    return codecs.decode(_rows, body)


def _read_at_once(
    body: bytes, parts: Sequence[bytes | msgspec.Raw], *, lines: bool
) -> list[ScoreIn] | None:
    """All rows, when none of them needs a closer look; row by row takes three times as long."""
    if max(map(len, map(memoryview, parts))) > LARGEST_ROW:  # type: ignore[arg-type]
        return None
    try:
        scores = _score.decode_lines(body) if lines else _scores.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    # Every row has two names, so that as many in all means that none has a third.
    names = 2 * len(scores)
    if not codecs.names_differ(body, names):
        names = sum([score.names() for score in scores])
        if not codecs.names_differ(body, names):
            return None
    return scores


def _read_row(part: bytes, number: int) -> Row:
    prefix = str(number)
    if len(part) > LARGEST_ROW:
        return ApiError(422, "row_too_large", "This row is too long.", field=prefix)
    try:
        score = codecs.decode(_score, part, prefix)
        codecs.refuse_repeated_names(part, score.names(), prefix)
    except ApiError as error:
        return error
    return score


EXAMPLE: dict[str, Any] = {
    "player": "ada",
    "score": 9120,
    "details": {"name": "Ada", "country": "GB"},
}


def schemas() -> tuple[dict[str, Any], dict[str, Any]]:
    """How a submission looks in the OpenAPI document, and the components it refers to."""
    (schema,), components = msgspec.json.schema_components(
        [ScoreIn], ref_template="#/components/schemas/{name}"
    )
    return schema, components
