"""A policy: limits, the callers they count, and what happens at the edges. Imports no Django.

`sentence.py` reads them as people write them; `str(policy)` writes them back.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network
from typing import Literal

from ratelimit import keys
from ratelimit.algorithms import Algorithm

OnFailure = Literal["open", "closed"]
Network = IPv4Network | IPv6Network

UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
MICROSECONDS = 1_000_000
LONGEST_WINDOW = 366 * 86400
LARGEST_COUNT = 1_000_000_000
LARGEST_LOG = 100_000  # a member each, about 100 bytes
SMALLEST_SPACING = 10  # microseconds; below, rounding to whole ones would bend the rate
DEFAULT_ALGORITHM = Algorithm.SLIDING_COUNTER
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class PolicyError(ValueError):
    """A policy is not valid; `part` is the wrong words."""

    def __init__(self, part: str, expected: str) -> None:
        self.part = part
        self.expected = expected
        super().__init__(f"at {part!r}: expected {expected}")


@dataclass(frozen=True)
class Limit:
    """A count per window (in seconds), or a count at once with leases of that length."""

    count: int
    window: int
    algorithm: Algorithm = DEFAULT_ALGORITHM
    burst: int = 0  # 0: the same as the count

    def __post_init__(self) -> None:
        if not 1 <= self.count <= LARGEST_COUNT:
            raise PolicyError(str(self.count), f"a count from 1 to {LARGEST_COUNT}")
        if not 1 <= self.window <= LONGEST_WINDOW:
            raise PolicyError(f"{self.window} seconds", "a window from one second to a year")
        if self.burst and not self.algorithm.takes_burst:
            raise PolicyError(f"burst {self.burst}", "token bucket or gcra with a burst")
        if not 0 <= self.burst <= LARGEST_COUNT:
            raise PolicyError(f"burst {self.burst}", f"a burst from 1 to {LARGEST_COUNT}")
        if self.algorithm is Algorithm.SLIDING_LOG and self.count > LARGEST_LOG:
            raise PolicyError(str(self.count), f"at most {LARGEST_LOG} in a sliding log")
        if (
            self.algorithm is Algorithm.GCRA
            and self.window * MICROSECONDS < self.count * SMALLEST_SPACING
        ):
            raise PolicyError(
                f"{self.count}/{self.window}s", "at most 100000 a second with gcra, or token bucket"
            )

    @property
    def capacity(self) -> int:
        """The most that can be used at once."""
        return self.burst or self.count

    @property
    def label(self) -> str:
        """`minute`, `10minutes`, `at-once`: names the limit among those of its policy."""
        if self.algorithm is Algorithm.AT_ONCE:
            return "at-once"
        number, unit = _in_units(self.window)
        return unit if number == 1 else f"{number}{unit}s"

    def __str__(self) -> str:
        number, unit = _in_units(self.window)
        span = unit if number == 1 else f"{number} {unit}s"
        if self.algorithm is Algorithm.AT_ONCE:
            return f"{self.count} at once for {number} {unit}{'s' if number > 1 else ''}"
        burst = f" burst {self.burst}" if self.burst else ""
        return f"{self.count}/{span} {self.algorithm.words}{burst}"


@dataclass(frozen=True)
class Exemptions:
    """Callers that are never counted."""

    groups: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()
    api_keys: frozenset[str] = frozenset()  # fingerprints, see `manage.py ratelimit fingerprint`

    def __bool__(self) -> bool:
        return bool(self.groups or self.networks or self.api_keys)


@dataclass(frozen=True)
class Policy:
    """A named set of limits that are charged together, or not at all."""

    name: str
    limits: tuple[Limit, ...]
    by: tuple[str, ...] = ("ip",)
    cost: int | str = 1  # a number, or the dotted path of a function of the request
    on_failure: OnFailure = "open"
    shadow: bool = False
    exempt: Exemptions = field(default_factory=Exemptions)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise PolicyError(self.name, "a name of lowercase letters, digits and underscores")
        if not self.limits:
            raise PolicyError("", "a limit such as 5/minute")

    def __hash__(self) -> int:
        return self._hash

    # Every call needs these, so they are computed once; cached_property works despite `frozen`.

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.limits, self.by, self.shadow))

    @cached_property
    def has_leases(self) -> bool:
        return any(limit.algorithm is Algorithm.AT_ONCE for limit in self.limits)

    @cached_property
    def text(self) -> str:
        """The limits as `limits.lua` takes them."""
        return json.dumps(
            [
                [limit.algorithm, limit.count, limit.window * MICROSECONDS, limit.capacity]
                for limit in self.limits
            ],
            separators=(",", ":"),
        )

    @cached_property
    def capacities(self) -> tuple[int, ...]:
        return tuple(limit.capacity for limit in self.limits)

    @cached_property
    def _state_key_parts(self) -> tuple[str, tuple[str, ...]]:
        # The caller's name is put between a beginning and the endings: no format per call.
        mark = "\0"
        whole = [
            keys.state(self.name, mark, position, limit.algorithm)
            for position, limit in enumerate(self.limits, 1)
        ]
        return whole[0].partition(mark)[0], tuple(key.partition(mark)[2] for key in whole)

    def state_keys(self, caller: str) -> list[str]:
        beginning, endings = self._state_key_parts
        caller_part = beginning + caller
        return [caller_part + ending for ending in endings]

    def __str__(self) -> str:
        words = [f"{' and '.join(map(str, self.limits))} by {'+'.join(self.by)}"]
        if self.cost != 1:
            words.append(f"cost {self.cost}")
        words.append(f"{self.on_failure} on failure")
        if self.shadow:
            words.append("shadow")
        words += [f"exempt group {name}" for name in sorted(self.exempt.groups)]
        words += [f"exempt network {network}" for network in self.exempt.networks]
        words += [f"exempt key {name}" for name in sorted(self.exempt.api_keys)]
        return ", ".join(words)


def _in_units(seconds: int) -> tuple[int, str]:
    for unit, length in reversed(UNITS.items()):
        if seconds % length == 0:
            return seconds // length, unit
    raise AssertionError(seconds)  # a second divides every whole number
