"""Whether a call may go on: the policy by its name, with everything around it: overrides, blocks,
the local shield, the circuit breaker, shadow mode and the metrics. Needs no request.

    decision = guard.hit("search", callers.ip_name("203.0.113.7"))
    decision = await guard.ahit("score_submit", callers.api_key_name(key), cost=len(rows))

    with guard.hold("export", callers.user_name(user.pk)) as decision:
        if decision: ...
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import time
from weakref import WeakKeyDictionary

from config.redis.connections import OUTAGE_ERRORS, get_async_redis, get_redis
from ratelimit import metrics, policies, sync
from ratelimit.breaker import Breaker
from ratelimit.decision import Decision, Reason
from ratelimit.limiter import AsyncLimiter, Limiter
from ratelimit.metrics import Outcome
from ratelimit.policy import Policy
from ratelimit.shield import Shield

logger = logging.getLogger("rostrum.ratelimit")

CONNECTION = "limits"
RETRY_AFTER_FAILURE = 5.0  # seconds a caller should wait when Redis is away

shield = Shield()
breaker = Breaker()


def _policy(policy: str | Policy) -> Policy:
    return policy if isinstance(policy, Policy) else policies.get(policy)


def limiter() -> Limiter:
    return Limiter(get_redis(CONNECTION), shield=shield)


_async_limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncLimiter] = WeakKeyDictionary()


def async_limiter() -> AsyncLimiter:
    """The limiter of the running event loop, which sends concurrent calls together."""
    client = get_async_redis(CONNECTION)
    loop = asyncio.get_running_loop()
    limiter = _async_limiters.get(loop)
    if limiter is None or limiter.client is not client:
        limiter = _async_limiters[loop] = AsyncLimiter(client, shield=shield)
    return limiter


def hit(policy: str | Policy, caller: str, cost: int = 1, *, lease: str = "") -> Decision:
    """Charge a call to a policy, by its name or as it is; see `Limiter.hit`.

    Never raises for an outage: the policy decides what happens then.
    """
    policy = _policy(policy)
    decision = _local_decision(policy, caller, cost)
    if decision is None:
        try:
            decision = limiter().hit(policy, caller, cost, lease=lease)
        except OUTAGE_ERRORS as error:
            decision = _failed(policy, error)
        else:
            breaker.succeeded()
    return _counted(policy, caller, decision)


async def ahit(policy: str | Policy, caller: str, cost: int = 1, *, lease: str = "") -> Decision:
    """The asynchronous twin of `hit`."""
    policy = _policy(policy)
    decision = _local_decision(policy, caller, cost)
    if decision is None:
        try:
            decision = await async_limiter().hit(policy, caller, cost, lease=lease)
        except OUTAGE_ERRORS as error:
            decision = _failed(policy, error)
        else:
            breaker.succeeded()
    return _counted(policy, caller, decision)


def known_refusal(policy: str | Policy, caller: str) -> Decision | None:
    """The denial of an earlier call, if it still holds; charges nothing, sends nothing."""
    policy = _policy(policy)
    denied = shield.refusal(policy.name, caller, 1)
    if denied is None:
        return None
    decision = _counted(policy, caller, denied)
    return None if decision.allowed else decision


def release(policy: str | Policy, caller: str, lease: str) -> None:
    """Give a place among those "at once" back; if Redis is away, the lease ends by itself."""
    with suppress(*OUTAGE_ERRORS):
        limiter().release(_policy(policy), caller, lease)


async def arelease(policy: str | Policy, caller: str, lease: str) -> None:
    """The asynchronous twin of `release`."""
    with suppress(*OUTAGE_ERRORS):
        await async_limiter().release(_policy(policy), caller, lease)


async def arenew(policy: str | Policy, caller: str, lease: str) -> bool:
    """Make a lease last another window; False when it is no longer held."""
    try:
        return await async_limiter().renew(_policy(policy), caller, lease)
    except OUTAGE_ERRORS:
        return _policy(policy).on_failure == "open"


@contextmanager
def hold(policy: str | Policy, caller: str, cost: int = 1) -> Iterator[Decision]:
    """Around plain code: charges at the start, and gives a place "at once" back at the end.

    The block runs in any case; check the decision. What may last longer than a lease uses
    `leases.hold`.
    """
    lease = secrets.token_hex(8)
    decision = hit(policy, caller, cost, lease=lease)
    try:
        yield decision
    finally:
        if decision.allowed and decision.policy.has_leases:
            release(policy, caller, lease)


def _local_decision(policy: Policy, caller: str, cost: int) -> Decision | None:
    """The decision that needs no call of Redis: a block, or that Redis is away."""
    sync.start()
    blocked_until = sync.blocked_until(policy.name, caller)
    if blocked_until and (left := blocked_until - time()) > 0:
        return _decided(policy, False, left, Reason.BLOCK)
    if breaker.allows():
        return None
    return shield.refusal(policy.name, caller, cost) or _degraded(policy)


def _failed(policy: Policy, error: Exception) -> Decision:
    breaker.failed()
    logger.warning(
        "Redis does not answer for a limit",
        extra={"policy": policy.name, "error": type(error).__name__},
    )
    return _degraded(policy)


def _degraded(policy: Policy) -> Decision:
    """Redis is away: the policy decides."""
    allowed = policy.on_failure == "open"
    return _decided(policy, allowed, 0.0 if allowed else RETRY_AFTER_FAILURE, Reason.OUTAGE)


def _decided(policy: Policy, allowed: bool, retry_after: float, reason: Reason) -> Decision:
    capacity = policy.capacities[0]
    remaining = capacity if allowed else 0
    return Decision(allowed, capacity, remaining, retry_after, retry_after, policy, (), reason)


def _counted(policy: Policy, caller: str, decision: Decision) -> Decision:
    if decision.allowed:
        outcome = Outcome.ALLOWED if decision.reason is Reason.LIMITS else Outcome.FAILED_OPEN
    elif policy.shadow:
        outcome = Outcome.SHADOW_DENIED
        logger.info("would be denied", extra={"policy": policy.name, "caller": caller})
        decision = decision._replace(allowed=True, retry_after=0.0)
    else:
        outcome = _REFUSALS[decision.reason]
    metrics.count(policy.name, caller, outcome)
    return decision


_REFUSALS = {
    Reason.LIMITS: Outcome.DENIED,
    Reason.BLOCK: Outcome.BLOCKED,
    Reason.OUTAGE: Outcome.FAILED_CLOSED,
}
