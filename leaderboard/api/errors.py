"""Refusals of the API: each with a status, a stable code, a sentence, and the field it is about."""

from __future__ import annotations

from typing import Any

from config.web.problems import problem_body


class ApiError(Exception):
    """A 4xx or 5xx answer. `field` is the path into what was sent, such as `rows.3.score`."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        field: str | None = None,
        headers: dict[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.field = field
        self.headers = headers or {}
        self.extra = extra

    def body(self) -> dict[str, Any]:
        extra = self.extra if self.field is None else {"field": self.field} | self.extra
        return problem_body(self.status, self.code, self.detail, **extra)


BOARD_NOT_FOUND = ("board_not_found", "There is no such board, or you cannot see it.")


def board_not_found() -> ApiError:
    """Also for a board that may not be seen: from outside the two look the same."""
    return ApiError(404, *BOARD_NOT_FOUND)


def body_too_large() -> ApiError:
    return ApiError(413, "body_too_large", "The request is larger than Rostrum accepts.")


def too_many_parameters() -> ApiError:
    return ApiError(400, "too_many_parameters", "The address has too many parameters.")
