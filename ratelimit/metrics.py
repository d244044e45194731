"""Outcomes of limits, for Prometheus and, summed over all processes, for the operations page."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any

from prometheus_client import Counter as PrometheusCounter

# Callers that are counted apart between two flushes, which are a few seconds apart.
MAX_CALLERS = 2_000

_calls = PrometheusCounter(
    "rostrum_ratelimit_calls_total",
    "Calls checked against a rate limit, by outcome.",
    ["policy", "outcome"],
)


class Outcome(StrEnum):
    ALLOWED = "allowed"
    DENIED = "denied"
    BLOCKED = "blocked"  # by staff
    SHADOW_DENIED = "shadow_denied"  # would have been denied
    FAILED_OPEN = "failed_open"  # Redis away, let through
    FAILED_CLOSED = "failed_closed"  # Redis away, refused
    EXEMPT = "exempt"


@cache
def _series(policy: str, outcome: Outcome) -> Any:
    return _calls.labels(policy, outcome)


@dataclass
class Tally:
    """Counts since the last flush. Callers beyond the first `MAX_CALLERS` are counted in the
    outcomes only."""

    outcomes: Counter[str] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)
    denials: Counter[str] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        return bool(self.outcomes)


_tally = Tally()
_lock = threading.Lock()


def count(policy: str, caller: str, outcome: Outcome) -> None:
    _series(policy, outcome).inc()
    name = f"{policy}:{caller}"
    with _lock:
        _tally.outcomes[f"{policy}:{outcome}"] += 1
        if name in _tally.hits or len(_tally.hits) < MAX_CALLERS:
            _tally.hits[name] += 1
            if outcome in (Outcome.DENIED, Outcome.BLOCKED, Outcome.SHADOW_DENIED):
                _tally.denials[name] += 1


def take_tally() -> Tally:
    """The counts since the last call of this, to be written once."""
    global _tally
    with _lock:
        taken, _tally = _tally, Tally()
    return taken
