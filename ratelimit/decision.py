"""The answer of a limiter."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ratelimit.policy import Policy


class Reason(StrEnum):
    """What the decision is based on."""

    LIMITS = "limits"
    BLOCK = "block"  # staff blocked this caller
    OUTAGE = "outage"  # Redis is away, and the policy is open or closed then


class LimitState(NamedTuple):
    """The state of one limit of a policy. Times in seconds."""

    limit: int
    remaining: int
    reset_after: float
    retry_after: float


class Decision(NamedTuple):
    """Whether a call may go on. True when it may.

    `limit`, `remaining` and `reset_after` are those of the tightest limit; `retry_after` is 0 when
    allowed, else the seconds until the same call can succeed.
    """

    allowed: bool
    limit: int
    remaining: int
    reset_after: float
    retry_after: float
    policy: Policy
    several: tuple[LimitState, ...] = ()  # each limit of a policy that has more than one
    reason: Reason = Reason.LIMITS

    def __bool__(self) -> bool:
        return self.allowed

    @property
    def limit_states(self) -> tuple[LimitState, ...]:
        """The state of each limit; empty when the limits were not checked."""
        if self.reason is not Reason.LIMITS:
            return ()
        return self.several or (
            LimitState(self.limit, self.remaining, self.reset_after, self.retry_after),
        )
