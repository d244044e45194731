"""The algorithms. Imports no Django."""

from __future__ import annotations

from enum import StrEnum


class Algorithm(StrEnum):
    """How a limit counts. The value names the Lua module; the words are those of a policy."""

    FIXED_WINDOW = "fixed_window"
    SLIDING_LOG = "sliding_log"
    SLIDING_COUNTER = "sliding_counter"
    TOKEN_BUCKET = "token_bucket"  # noqa: S105 no password
    GCRA = "gcra"
    AT_ONCE = "at_once"

    @property
    def words(self) -> str:
        return self.value.replace("_", " ")

    @property
    def takes_burst(self) -> bool:
        """Whether the most at once can differ from the count per window."""
        return self in (Algorithm.TOKEN_BUCKET, Algorithm.GCRA)


# The algorithms that a policy can name; "at once" is a limit of its own kind.
TIMED = tuple(algorithm for algorithm in Algorithm if algorithm is not Algorithm.AT_ONCE)
