"""Policies as people write them. Imports no Django.

5/minute by ip+username, sliding log
10/second and 1000/day by api_key, gcra, burst 20, closed on failure
100/hour fixed window and 10/second token bucket burst 30 by user
20 at once for 2 minutes by ip, shadow, exempt network 10.0.0.0/8, exempt group staff
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_network
from typing import Any

from ratelimit.algorithms import TIMED, Algorithm
from ratelimit.policy import DEFAULT_ALGORITHM, UNITS, Exemptions, Limit, Policy, PolicyError

LEASE_SECONDS = 60

_ALGORITHM_WORDS = {algorithm.words: algorithm for algorithm in TIMED}
_ALGORITHMS_EXPECTED = ", ".join(_ALGORITHM_WORDS)
_RATE = re.compile(
    r"(?P<count>[\d_]+) ?(?:/|per) ?(?:(?P<number>\d+) ?)?(?P<unit>[a-z]+?)s?"
    r"(?: (?P<algorithm>[a-z]+(?: [a-z]+)?))??(?: burst (?P<burst>[\d_]+))?"
)
_AT_ONCE = re.compile(
    r"(?P<count>[\d_]+) at once(?: for (?:(?P<number>\d+) )?(?P<unit>[a-z]+?)s?)?"
)


def parse(name: str, sentence: str, base: Policy | None = None) -> Policy:
    """The policy that the sentence describes; what it leaves out is taken from `base`.

    Raises PolicyError with a message that quotes the wrong words.
    """
    first, *clauses = [" ".join(clause.split()) for clause in sentence.split(",")]
    limits_text, by_word, by_text = f" {first} ".partition(" by ")
    if base is not None and not by_word and not first[:1].isdigit():
        # An override may begin with what it changes: "shadow", "closed on failure".
        limits_text, clauses = "", [first, *clauses]
    policy = base or Policy(name, limits=(Limit(1, 1),))
    written = list(_limits(limits_text.strip()))
    if not written and base is None:
        raise PolicyError(sentence, "a limit such as 5/minute")
    if by_word:
        policy = replace(policy, by=tuple(_callers(by_text.strip())))
    algorithm: Algorithm | None = None
    burst = 0
    exempt: list[tuple[str, str]] = []
    for clause in clauses:
        word, _, rest = clause.partition(" ")
        if clause in _ALGORITHM_WORDS:
            algorithm = _ALGORITHM_WORDS[clause]
        elif word == "burst":
            burst = _number(rest)
        elif word == "cost":
            policy = replace(policy, cost=_number(rest) if rest.isdigit() else rest)
        elif clause in ("open on failure", "closed on failure"):
            policy = replace(policy, on_failure="open" if word == "open" else "closed")
        elif clause in ("shadow", "enforced"):
            policy = replace(policy, shadow=clause == "shadow")
        elif word == "exempt":
            kind, _, value = rest.partition(" ")
            exempt.append((kind, value))
        else:
            raise PolicyError(
                clause,
                f"an algorithm ({_ALGORITHMS_EXPECTED}), burst, cost, open or closed on failure, "
                "shadow, enforced, or exempt group, network or key",
            )
    if exempt:
        policy = replace(policy, exempt=_exemptions(exempt))
    if written:
        default = algorithm or _default_algorithm(base)
        limits = tuple(_limit(limit, default, burst) for limit in written)
        policy = replace(policy, limits=limits)
    elif algorithm or burst:
        raise PolicyError(sentence, "limits with an algorithm or a burst")
    return policy


@dataclass(frozen=True)
class _Written:
    count: int
    window: int
    algorithm: Algorithm | None
    burst: int


def _limits(text: str) -> Iterator[_Written]:
    for part in text.split(" and ") if text else ():
        if found := _AT_ONCE.fullmatch(part):
            window = _window(found) if found["unit"] else LEASE_SECONDS
            yield _Written(_number(found["count"]), window, Algorithm.AT_ONCE, 0)
        elif found := _RATE.fullmatch(part):
            words = found["algorithm"]
            if words and words not in _ALGORITHM_WORDS:
                raise PolicyError(words, _ALGORITHMS_EXPECTED)
            yield _Written(
                _number(found["count"]),
                _window(found),
                _ALGORITHM_WORDS[words] if words else None,
                _number(found["burst"] or "0"),
            )
        else:
            raise PolicyError(part, "a limit such as 5/minute, 100/10 minutes or 20 at once")


def _window(found: re.Match[str]) -> int:
    if found["unit"] not in UNITS:
        raise PolicyError(found["unit"], ", ".join(UNITS))
    return int(found["number"] or 1) * UNITS[found["unit"]]


def _limit(written: _Written, default: Algorithm, burst: int) -> Limit:
    algorithm = written.algorithm or default
    # A burst of the whole policy is for those of its limits that take one.
    general = burst if algorithm.takes_burst or written.algorithm is None else 0
    return Limit(written.count, written.window, algorithm, written.burst or general)


def _default_algorithm(base: Policy | None) -> Algorithm:
    if base is None:
        return DEFAULT_ALGORITHM
    timed = [limit.algorithm for limit in base.limits if limit.algorithm in TIMED]
    return timed[0] if timed else DEFAULT_ALGORITHM


def _callers(text: str) -> Iterator[str]:
    for caller in text.split("+"):
        if not re.fullmatch(r"[A-Za-z_][\w.]*", caller.strip()):
            raise PolicyError(caller, "ip, user, session, api_key, username … joined by +")
        yield caller.strip()


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise PolicyError(text, "a whole number") from None


def _exemptions(clauses: list[tuple[str, str]]) -> Exemptions:
    found: dict[str, list[Any]] = {"group": [], "network": [], "key": []}
    for kind, value in clauses:
        if kind not in found or not value:
            raise PolicyError(f"exempt {kind} {value}".strip(), "exempt group, network or key")
        try:
            found[kind].append(ip_network(value) if kind == "network" else value)
        except ValueError:
            raise PolicyError(value, "a network such as 10.0.0.0/8") from None
    return Exemptions(frozenset(found["group"]), tuple(found["network"]), frozenset(found["key"]))
