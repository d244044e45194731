"""The OpenAPI document: what Ninja writes, and what it cannot know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ninja.schema import NinjaGenerateJsonSchema
from pydantic import TypeAdapter

from leaderboard.api import live_schemas
from leaderboard.api import schemas as answer_schemas
from leaderboard.api.hot import bodies
from leaderboard.api.problems import Problem

INTRODUCTION = """\
Scores in, standings out. Send `Authorization: Bearer rk_…` with a key from the admin; public
boards can be read without one, under a stricter limit.

Every error is `application/problem+json` with a stable `code`. Every response has its rate limit
in `RateLimit` and `RateLimit-Policy`. Reads have an `ETag` and return `304` if nothing changed.
Writes accept an `Idempotency-Key`: a retry gets the first response.

Ids in an address are percent-encoded: a slash inside one is `%2F`.
"""

_REF = "#/components/schemas/{model}"
_FORMATS = {"integer": "int64", "number": "double"}
# What these hold are values, whatever they look like.
_VALUES = frozenset({"example", "examples", "enum", "const"})

# By operation, because neither follows from the method.
_WITHOUT_ETAG = frozenset(
    {"listBoards", "getPresence", "getPlayerHistory", "listPlayersNearby", "watchBoard"}
)
_READ_BY_POST = frozenset({"listEntriesAmong"})
_NOT_KEPT = frozenset({"createLiveTicket"})

_IDEMPOTENCY = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": False,
    "description": "A retry with the same key and body gets the first response, for a day.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
}
_IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "required": False,
    "description": "The ETag of an earlier response; the status is 304 if nothing changed.",
    "schema": {"type": "string"},
}


def _header(description: str, example: str, **schema: Any) -> dict[str, Any]:
    return {
        "description": description,
        "schema": {"type": "string"} | schema,
        "example": example,
    }


_HEADERS = {
    "RateLimit": _header("What is left of each limit, and when it resets.", '"api_key";r=599;t=1'),
    "RateLimit-Policy": _header("The limits of this caller.", '"api_key";q=600;w=60'),
    "X-Request-ID": _header("Identifies this request in the log.", "9f3c2a7b1d5e4f60"),
    "ETag": _header("For `If-None-Match`.", 'W/"5f2a-3-4182"'),
    "Idempotency-Replayed": _header(
        "On a retry: this is the first request's response.", "true", enum=["true"]
    ),
    "Retry-After": _header("Seconds to wait, with 409, 429 and 503.", "5", pattern="^[0-9]+$"),
    "WWW-Authenticate": _header("With 401.", 'Bearer error="invalid_token"'),
    "Accept-Encoding": _header("With 415: bodies must not be compressed.", "identity"),
}
_LIMITS = ("RateLimit", "RateLimit-Policy")


def completed(schema: dict[str, Any]) -> dict[str, Any]:
    """The document with errors, events, headers, formats, and who needs a key; without schemas
    that nothing refers to."""
    schemas = schema["components"]["schemas"]
    schemas |= _described("Problem", Problem)
    schemas |= answer_schemas.components(live_schemas.EVENTS.values())
    schemas |= {"LiveEvent": live_schemas.LIVE_EVENT} | bodies.schemas()[1]
    schema["components"]["headers"] = _HEADERS
    for operations in schema["paths"].values():
        for method, operation in operations.items():
            _complete(method, operation)
    schema["servers"] = [{"url": "/"}]
    _drop_unreferenced(schema)
    for one in _nodes(schema):
        if "$ref" in one:
            one.pop("type", None)  # of a text that is one of a few words: the component has it
        elif "enum" in one:
            one.setdefault("type", "string")
        elif one.get("items") is False:
            del one["items"]  # behind a pair; `maxItems` says the same, and generators take it
        if isinstance(kind := one.get("type"), str) and kind in _FORMATS:
            one["format"] = _FORMATS[kind]
    return schema


def _described(name: str, what: Any) -> dict[str, Any]:
    """A type as components: itself by this name, and those it is made of."""
    schema = TypeAdapter(what).json_schema(
        ref_template=_REF, schema_generator=NinjaGenerateJsonSchema
    )
    return {**schema.pop("$defs", {}), name: schema}


def _complete(method: str, operation: dict[str, Any]) -> None:
    name, parameters = operation["operationId"], operation.setdefault("parameters", [])
    is_read = method == "get" or name in _READ_BY_POST
    # Public boards need no key.
    operation["security"] = [{}, {"BearerKey": []}] if is_read else [{"BearerKey": []}]
    answers, headers = operation["responses"], ["X-Request-ID"]
    if name != "watchBoard":
        headers += _LIMITS
    if is_read and name not in _WITHOUT_ETAG:
        parameters.append(_IF_NONE_MATCH)
        headers.append("ETag")
        answers["304"] = {"description": "Nothing has changed.", "headers": _referred(headers)}
    elif not is_read and name not in _NOT_KEPT:
        parameters.append(_IDEMPOTENCY)
        headers.append("Idempotency-Replayed")
    answers[200]["headers"] = _referred(headers)
    answers["default"] = {
        "description": "An error.",
        "headers": _referred(
            ["X-Request-ID", *_LIMITS, "Retry-After", "WWW-Authenticate", "Accept-Encoding"]
        ),
        "content": {
            "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
        },
    }
    for content in operation.get("requestBody", {}).get("content", {}).values():
        # Ninja wraps the schema of a body that may be left out, beside its default.
        if len(content["schema"].get("allOf", ())) == 1:
            (content["schema"],) = content["schema"]["allOf"]


def _referred(headers: list[str]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in headers}


def _drop_unreferenced(schema: dict[str, Any]) -> None:
    """Ninja keeps the classes of queries, each parameter of which is already in its operation."""
    schemas = schema["components"]["schemas"]
    kept: dict[str, Any] = {}
    waiting = [schema["paths"]]
    while waiting:
        for node in _nodes(waiting.pop()):
            name = str(node.get("$ref", "")).rpartition("/")[2]
            if name in schemas and name not in kept:
                kept[name] = schemas[name]
                waiting.append(schemas[name])
    schema["components"]["schemas"] = dict(sorted(kept.items()))


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object of the document that is not a value."""
    if isinstance(tree, list):
        for one in tree:
            yield from _nodes(one)
    elif isinstance(tree, dict):
        yield tree
        for name, one in tree.items():
            if name not in _VALUES:
                yield from _nodes(one)
