"""Ask Redis: one function call per question. Imports no Django.

    limiter = Limiter(client)
    policy = sentence.parse("search", "10/second by ip, token bucket")
    if limiter.hit(policy, "203.0.113.7"):
        ...

`hit` charges, `peek` only looks, `reset` forgets; a lease of those "at once" is taken by `hit`,
kept by `renew` and given back by `release`.
`AsyncLimiter` is the same with coroutines, on a `redis.asyncio` client.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from config.redis.calls import Call, Command, Steps, aperform_on, perform_on
from config.redis.functions import Function
from config.redis.wire import AsyncWire
from ratelimit.algorithms import Algorithm
from ratelimit.decision import Decision, LimitState
from ratelimit.functions import LIBRARY
from ratelimit.policy import MICROSECONDS, Policy
from ratelimit.shield import Shield

_HIT = LIBRARY["hit"]
_PEEK = LIBRARY["peek"]
_RENEW = LIBRARY["renew"]


class _Steps:
    """What both limiters send, and how they read the replies.

    A call is repeated when its connection is lost: if the first did run, one call is charged twice,
    which does less harm than an outage for every connection after a restart of the server.
    """

    def __init__(
        self,
        client: Any,
        *,
        shield: Shield | None = None,
        clock: Callable[[], int] | None = None,
    ) -> None:
        """Without a shield Redis is asked every time. `clock`, in microseconds, is for tests."""
        self.client = client
        self._shield = shield
        self._clock = clock

    def _hit(self, policy: Policy, caller: str, cost: int, lease: str) -> Steps[Decision]:
        if self._shield is not None:
            refusal = self._shield.refusal(policy.name, caller, cost)
            if refusal is not None:
                return refusal
        asked = monotonic()
        decision = _read(policy, (yield self._call(_HIT, policy, caller, cost, lease)))
        if not decision.allowed and self._shield is not None:
            self._shield.remember(caller, cost, asked, decision)
        return decision

    def _peek(self, policy: Policy, caller: str, cost: int) -> Steps[Decision]:
        return _read(policy, (yield self._call(_PEEK, policy, caller, cost, "")))

    def _call(self, function: Function, policy: Policy, caller: str, cost: int, lease: str) -> Call:
        if cost < 1:
            raise ValueError("A call costs 1 or more.")
        args: tuple[Any, ...] = (policy.text, cost)
        if self._clock is not None:
            args = (policy.text, cost, lease, self._clock())
        elif lease or policy.has_leases:
            args = (policy.text, cost, lease or secrets.token_hex(8))
        return Call(function, policy.state_keys(caller), args, may_repeat=True)

    def _reset(self, policy: Policy, caller: str) -> Steps[None]:
        yield Command("DEL", *policy.state_keys(caller))
        if self._shield is not None:
            self._shield.forget(policy.name, caller)


def _release(policy: Policy, caller: str, lease: str) -> Steps[None]:
    for key in _leases(policy, caller):
        yield Command("ZREM", key, lease)


def _renew(policy: Policy, caller: str, lease: str) -> Steps[bool]:
    leases = _leases(policy, caller)
    return bool((yield Call(_RENEW, list(leases), [lease, *leases.values()])))


def _read(policy: Policy, reply: Sequence[int]) -> Decision:
    capacities = policy.capacities
    if len(capacities) == 1:
        allowed, remaining, reset, retry = reply
        return Decision(
            allowed == 1,
            capacities[0],
            remaining,
            reset / MICROSECONDS,
            retry / MICROSECONDS,
            policy,
        )
    limit_states = tuple(
        LimitState(
            capacity,
            reply[at],
            reply[at + 1] / MICROSECONDS,
            reply[at + 2] / MICROSECONDS,
        )
        for capacity, at in zip(capacities, range(1, len(reply), 3), strict=True)
    )
    # The one that denies longest; when none does, the one with the smallest share left.
    tightest = max(limit_states, key=lambda s: (s.retry_after, -s.remaining / s.limit))
    return Decision(reply[0] == 1, *tightest, policy, limit_states)


def _leases(policy: Policy, caller: str) -> dict[str, int]:
    """The keys of the policy's leases, each with its window in microseconds."""
    return {
        key: limit.window * MICROSECONDS
        for limit, key in zip(policy.limits, policy.state_keys(caller), strict=True)
        if limit.algorithm is Algorithm.AT_ONCE
    }


class Limiter(_Steps):
    """On a redis-py client: one server, Sentinel or cluster."""

    def hit(self, policy: Policy, caller: str, cost: int = 1, *, lease: str = "") -> Decision:
        """Charge the call to every limit of the policy, or deny it and charge none.

        `lease` names a place among those "at once"; the same name again renews it.
        """
        return perform_on(self.client, self._hit(policy, caller, cost, lease))

    def peek(self, policy: Policy, caller: str, cost: int = 1) -> Decision:
        """Whether a call of this cost would be allowed now; charges nothing."""
        return perform_on(self.client, self._peek(policy, caller, cost))

    def reset(self, policy: Policy, caller: str) -> None:
        """Forget everything that was counted for this caller."""
        perform_on(self.client, self._reset(policy, caller))

    def release(self, policy: Policy, caller: str, lease: str) -> None:
        """Give a place among those "at once" back."""
        perform_on(self.client, _release(policy, caller, lease))

    def renew(self, policy: Policy, caller: str, lease: str) -> bool:
        """Make the lease last another window; False when it is no longer held."""
        return perform_on(self.client, _renew(policy, caller, lease))


class AsyncLimiter(_Steps):
    """The same on a `redis.asyncio` client. Calls that wait at the same time are sent together."""

    def __init__(self, client: Any, **options: Any) -> None:
        super().__init__(client, **options)
        self._wire: Any = AsyncWire(client) if AsyncWire.fits(client) else client

    async def hit(self, policy: Policy, caller: str, cost: int = 1, *, lease: str = "") -> Decision:
        """See `Limiter.hit`."""
        return await aperform_on(self._wire, self._hit(policy, caller, cost, lease))

    async def peek(self, policy: Policy, caller: str, cost: int = 1) -> Decision:
        """See `Limiter.peek`."""
        return await aperform_on(self._wire, self._peek(policy, caller, cost))

    async def reset(self, policy: Policy, caller: str) -> None:
        """See `Limiter.reset`."""
        await aperform_on(self.client, self._reset(policy, caller))

    async def release(self, policy: Policy, caller: str, lease: str) -> None:
        """See `Limiter.release`."""
        await aperform_on(self.client, _release(policy, caller, lease))

    async def renew(self, policy: Policy, caller: str, lease: str) -> bool:
        """See `Limiter.renew`."""
        return await aperform_on(self.client, _renew(policy, caller, lease))
