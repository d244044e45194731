"""Every key of the rate limits. The braces keep one caller's limits in one slot of a cluster."""

from __future__ import annotations


def state(policy: str, caller: str, position: int, algorithm: str) -> str:
    """string or sorted set: what one limit remembers; TTL until it would forget; written by hits.

    Sorted sets hold the log (one member per unit, scored by time) and the leases (scored by end);
    the other algorithms keep two or three packed doubles. See `functions/`.
    """
    return f"rl:{{{policy}:{caller}}}:{position}:{algorithm}"


def blocks() -> str:
    """sorted set: `policy:caller`, scored by when its block ends; TTL a year; written by staff."""
    return "rl:blocks"


def changes() -> str:
    """string: a new value with each reset, block and unblock; TTL one day; written by staff."""
    return "rl:changes"


def outcomes(day: str) -> str:
    """hash: `policy:outcome` to a count; TTL 8 days; written by each process every few seconds."""
    return f"rl:outcomes:{day}"


def busiest(hour: int) -> str:
    """sorted set: `policy:caller`, scored by hits; TTL 2 hours; written by each process."""
    return f"rl:busiest:{hour}"


def most_denied(hour: int) -> str:
    """sorted set: `policy:caller`, scored by denials; TTL 2 hours; written by each process."""
    return f"rl:denied:{hour}"
