"""The OpenAPI document: what Ninja writes, and what it cannot know."""

from __future__ import annotations

from typing import Any

from leaderboard.api.schemas import Problem
from leaderboard.fastlane import bodies

INTRODUCTION = """\
Scores in, standings out. Send `Authorization: Bearer rk_…` with a key from the admin; public
boards can be read without one, under a stricter limit.

Every error is `application/problem+json` with a stable `code`. Every answer says how its limit
stands (`RateLimit`, `RateLimit-Policy`). Reads carry an `ETag` and answer `304` when nothing
changed. Writes take an `Idempotency-Key`: a retry gets the first answer.

Ids in an address are percent-encoded: a slash inside one is `%2F`.
"""

_WRITES = {"post", "put", "patch", "delete"}
_IDEMPOTENCY = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": False,
    "description": "A retry with the same key and body gets the first answer, for a day.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
}
_IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "required": False,
    "description": "The ETag of an earlier answer; 304 when it still holds.",
    "schema": {"type": "string"},
}
_PROBLEM = {
    "description": "An error.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def completed(schema: dict[str, Any]) -> dict[str, Any]:
    """The document with errors, headers that many operations share, and who needs a key."""
    schemas = schema["components"]["schemas"]
    schemas["Problem"] = Problem.model_json_schema()
    schemas |= bodies.schemas()[1]
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation)
    schema["servers"] = [{"url": "/"}]
    return schema


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    parameters = operation.setdefault("parameters", [])
    is_read = method == "get" or path.endswith("/among")
    if is_read:
        # Public boards need no key.
        operation["security"] = [{}, {"BearerKey": []}]
    else:
        operation["security"] = [{"BearerKey": []}]
    if method in _WRITES and not path.endswith("/among"):
        parameters.append(_IDEMPOTENCY)
    elif method == "get" and not path.endswith(("/live", "/presence", "/boards", "/history")):
        parameters.append(_IF_NONE_MATCH)
        operation["responses"]["304"] = {"description": "Nothing has changed."}
    operation["responses"]["default"] = _PROBLEM
    for content in operation.get("requestBody", {}).get("content", {}).values():
        # Ninja wraps the schema of a body that may be left out, beside its default.
        if len(content["schema"].get("allOf", ())) == 1:
            (content["schema"],) = content["schema"]["allOf"]
