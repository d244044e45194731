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

from config.redis.functions import Function
from config.redis.wire import AsyncWire, Wire
from ratelimit.algorithms import Algorithm
from ratelimit.decision import Decision, LimitState
from ratelimit.functions import LIBRARY
from ratelimit.policy import MICROSECONDS, Policy
from ratelimit.shield import Shield

# ---- what both limiters say and hear -------------------------------------------------------------


class _Calls:
    """The description of each call: its arguments, and how to read its reply."""

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
        self._wire = self._find_wire(client)

    @staticmethod
    def _find_wire(client: Any) -> Any:
        """The short way to this client's server, if there is one."""
        raise NotImplementedError

    def _arguments(self, policy: Policy, cost: int, lease: str) -> tuple[Any, ...]:
        if cost < 1:
            raise ValueError("A call costs 1 or more.")
        if self._clock is not None:
            return (policy.text, cost, lease, self._clock())
        if lease or policy.has_leases:
            return (policy.text, cost, lease or secrets.token_hex(8))
        return (policy.text, cost)

    def _heard(
        self, policy: Policy, caller: str, cost: int, asked: float, reply: list[int]
    ) -> Decision:
        decision = _read(policy, reply)
        if not decision.allowed and self._shield is not None:
            self._shield.remember(caller, cost, asked, decision)
        return decision

    def _forget(self, policy: Policy, caller: str) -> None:
        if self._shield is not None:
            self._shield.forget(policy.name, caller)


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


_HIT = LIBRARY["hit"]
_PEEK = LIBRARY["peek"]
_RENEW = LIBRARY["renew"]


def _leases(policy: Policy, caller: str) -> dict[str, int]:
    """The keys of the policy's leases, each with its window in microseconds."""
    return {
        key: limit.window * MICROSECONDS
        for limit, key in zip(policy.limits, policy.state_keys(caller), strict=True)
        if limit.algorithm is Algorithm.AT_ONCE
    }


# ---- the two that send ---------------------------------------------------------------------------


class Limiter(_Calls):
    """On a redis-py client: one server, Sentinel or cluster."""

    @staticmethod
    def _find_wire(client: Any) -> Wire | None:
        return Wire(client) if Wire.fits(client) else None

    def hit(self, policy: Policy, caller: str, cost: int = 1, *, lease: str = "") -> Decision:
        """Charge the call to every limit of the policy, or deny it and charge none.

        `lease` names a place among those "at once"; the same name again renews it.
        """
        if self._shield is not None:
            refusal = self._shield.refusal(policy.name, caller, cost)
            if refusal is not None:
                return refusal
        asked = monotonic()
        reply = self._run(_HIT, policy, caller, cost, lease)
        return self._heard(policy, caller, cost, asked, reply)

    def peek(self, policy: Policy, caller: str, cost: int = 1) -> Decision:
        """Whether a call of this cost would be allowed now; charges nothing."""
        return _read(policy, self._run(_PEEK, policy, caller, cost, ""))

    def reset(self, policy: Policy, caller: str) -> None:
        """Forget everything that was counted for this caller."""
        self.client.delete(*policy.state_keys(caller))
        self._forget(policy, caller)

    def release(self, policy: Policy, caller: str, lease: str) -> None:
        """Give a place among those "at once" back."""
        for key in _leases(policy, caller):
            self.client.zrem(key, lease)

    def renew(self, policy: Policy, caller: str, lease: str) -> bool:
        """Make the lease last another window; False when it is no longer held."""
        leases = _leases(policy, caller)
        return bool(_RENEW(self.client, list(leases), [lease, *leases.values()]))

    def _run(self, function: Function, policy: Policy, caller: str, cost: int, lease: str) -> Any:
        keys = policy.state_keys(caller)
        arguments = self._arguments(policy, cost, lease)
        if self._wire is not None:
            return self._wire.run(function, keys, arguments)
        return function(self.client, keys, arguments)


class AsyncLimiter(_Calls):
    """The same on a `redis.asyncio` client."""

    @staticmethod
    def _find_wire(client: Any) -> AsyncWire | None:
        return AsyncWire(client) if AsyncWire.fits(client) else None

    async def hit(self, policy: Policy, caller: str, cost: int = 1, *, lease: str = "") -> Decision:
        """See `Limiter.hit`."""
        if self._shield is not None:
            refusal = self._shield.refusal(policy.name, caller, cost)
            if refusal is not None:
                return refusal
        asked = monotonic()
        reply = await self._run(_HIT, policy, caller, cost, lease)
        return self._heard(policy, caller, cost, asked, reply)

    async def peek(self, policy: Policy, caller: str, cost: int = 1) -> Decision:
        """See `Limiter.peek`."""
        return _read(policy, await self._run(_PEEK, policy, caller, cost, ""))

    async def reset(self, policy: Policy, caller: str) -> None:
        """See `Limiter.reset`."""
        await self.client.delete(*policy.state_keys(caller))
        self._forget(policy, caller)

    async def release(self, policy: Policy, caller: str, lease: str) -> None:
        """See `Limiter.release`."""
        for key in _leases(policy, caller):
            await self.client.zrem(key, lease)

    async def renew(self, policy: Policy, caller: str, lease: str) -> bool:
        """See `Limiter.renew`."""
        leases = _leases(policy, caller)
        return bool(await _RENEW.acall(self.client, list(leases), [lease, *leases.values()]))

    async def _run(
        self, function: Function, policy: Policy, caller: str, cost: int, lease: str
    ) -> Any:
        keys = policy.state_keys(caller)
        arguments = self._arguments(policy, cost, lease)
        if self._wire is not None:
            return await self._wire.run(function, keys, arguments)
        return await function.acall(self.client, keys, arguments)
