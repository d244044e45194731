"""The algorithms, and the scripts made of them. Imports no Django."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from pathlib import Path

from config.scripts import Script

_SCRIPTS = Path(__file__).parent / "scripts"
_PLACE = "--{algorithms}\n"


class Algorithm(StrEnum):
    """How a limit counts. The value names the Lua file; the words are those of a policy."""

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


# What a limit per time can be told to use; "at once" is a limit of its own kind.
TIMED = tuple(algorithm for algorithm in Algorithm if algorithm is not Algorithm.AT_ONCE)


@cache
def script_for(algorithms: tuple[Algorithm, ...], *, charging: bool) -> Script:
    """The script for limits of these algorithms in this order; `charging` or only looking."""
    files = [
        _SCRIPTS / "algorithms" / f"{algorithm}.lua" for algorithm in dict.fromkeys(algorithms)
    ]
    parts = [path.read_text() for path in files]
    parts.append(f"local algorithms = {{{', '.join(algorithms)}}}\n")
    parts.append(f"local charging = {'true' if charging else 'false'}\n")
    driver = (_SCRIPTS / "hit_limits.lua").read_text()
    assert _PLACE in driver
    verb = "hit" if charging else "peek"
    return Script(f"{verb} {'+'.join(algorithms)}", driver.replace(_PLACE, "".join(parts)))
