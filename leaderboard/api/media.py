"""Which bodies the API takes: JSON as it is, neither compressed nor a form."""

from __future__ import annotations

from leaderboard.api.errors import ApiError

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def check(content_type: str, content_encoding: str) -> None:
    """Raise 415 for a body that would otherwise be called broken JSON."""
    if content_encoding and content_encoding.strip().lower() != "identity":
        raise ApiError(
            415,
            "unsupported_encoding",
            "Send the body without a Content-Encoding.",
            field="Content-Encoding",
            headers={"Accept-Encoding": "identity"},
        )
    if content_type and content_type.partition(";")[0].strip().lower() in _FORMS:
        raise ApiError(
            415,
            "unsupported_media_type",
            "Send JSON, with Content-Type: application/json.",
            field="Content-Type",
        )
