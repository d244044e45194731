"""What the engine refuses, in words for people and codes for machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leaderboard.engine.rules import Rules


class LeaderboardError(ValueError):
    """Bad input: nothing was written. `code` is for machines, `field` names the argument."""

    def __init__(self, message: str, *, code: str, field: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.field = field


class SeasonMovedError(LeaderboardError):
    """The season a write was meant for is not open: nothing was written.

    `number` and `state` are those of the season that Redis knows, None when it knows none.
    """

    def __init__(self, number: int | None, state: str | None) -> None:
        if number is None:
            message = "This board has no open season."
        else:
            message = f"Season {number} of this board is {state}: look up the open season again."
        super().__init__(message, code="season_moved", field="season")
        self.number = number
        self.state = state


class RowsRefusedError(LeaderboardError):
    """All or nothing was asked and some rows are wrong: `errors` has them by their number."""

    def __init__(self, errors: Mapping[int, LeaderboardError]) -> None:
        first = min(errors)
        super().__init__(
            f"{len(errors)} of the rows cannot be accepted, nothing was written. "
            f"Row {first}: {errors[first]}",
            code="rows_refused",
            field="rows",
        )
        self.errors = dict(errors)


# By the code that a function gives for one row: the message and the argument at fault.
_REFUSALS = {
    "score_too_low": ("The score is below {lowest}, the lowest that this board accepts.", "score"),
    "score_too_high": (
        "The score is above {highest}, the highest that this board accepts.",
        "score",
    ),
    "step_too_large": (
        "The score changes by more than {largest_step}, the most that this board accepts at once.",
        "score",
    ),
    "score_overflow": ("The sum is too large.", "score"),
    "too_many_details": ("A player can have at most 32 details.", "metadata"),
    "details_too_large": ("A player's details can use at most 4096 bytes.", "metadata"),
    "unknown_player": ("This player is not on the board.", "user_id"),
}

_BOUNDS = ("lowest", "highest", "largest_step")


def refusal(code: str, rules: Rules) -> LeaderboardError:
    """The error for a code that a function gave, on a board with these rules."""
    message, field = _REFUSALS[code]
    bounds = {name: _short(getattr(rules, name)) for name in _BOUNDS}
    return LeaderboardError(message.format(**bounds), code=code, field=field)


def _short(number: float | None) -> str:
    """Whole numbers without a point, as people write them."""
    if number is None:
        return ""
    return str(int(number)) if float(number).is_integer() else repr(number)
