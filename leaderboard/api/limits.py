"""The limits of API callers: each key by its own policy, everybody else by address.

The fast lane charges once for all calls of one caller that leave together. When they do not fit,
it charges each alone, so that exactly those that fit go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from config.web.outages import explained
from leaderboard.api.callers import Caller
from leaderboard.api.errors import ApiError
from ratelimit import answers, guard, headers
from ratelimit.decision import Decision, Reason

ROWS_PER_CALL = 100  # rows of a bulk submission that cost as much as one call


def bulk_cost(rows: int) -> int:
    return -(-rows // ROWS_PER_CALL)


def charge(caller: Caller, cost: int = 1) -> Decision:
    return guard.hit(caller.policy, caller.name, cost)


async def acharge(caller: Caller, cost: int = 1) -> Decision:
    return await guard.ahit(caller.policy, caller.name, cost)


def known_refusal(caller: Caller) -> Decision | None:
    """A denial of this caller that still holds, without asking Redis."""
    return guard.known_refusal(caller.policy, caller.name)


async def charge_together(callers: Sequence[Caller]) -> list[Decision]:
    """One decision for each call."""
    first = callers[0]
    if all(caller is first for caller in callers):
        return await _charge_many(first, len(callers))
    groups: dict[str, list[Caller]] = {}
    for caller in callers:
        groups.setdefault(caller.name, []).append(caller)
    decided = await asyncio.gather(
        *[_charge_many(group[0], len(group)) for group in groups.values()]
    )
    decisions = {name: iter(found) for name, found in zip(groups, decided, strict=True)}
    return [next(decisions[caller.name]) for caller in callers]


async def _charge_many(caller: Caller, count: int) -> list[Decision]:
    if count == 1:
        return [await acharge(caller)]
    # More calls than the whole limit could never fit.
    if count <= min(caller.policy.capacities):
        decision = await acharge(caller, count)
        if decision.allowed or decision.reason is not Reason.LIMITS:
            return [decision] * count
    return [await acharge(caller) for _ in range(count)]


class LimitHeaders:
    """The headers of decisions, written once for all calls that share one."""

    def __init__(self) -> None:
        self._headers: dict[int, list[tuple[bytes, bytes]]] = {}

    def __call__(self, decision: Decision) -> list[tuple[bytes, bytes]]:
        found = self._headers.get(id(decision))
        if found is None:
            found = self._headers[id(decision)] = [
                (name.lower().encode(), value.encode())
                for name, value in headers.values([decision]).items()
            ]
        return found


def refusal(decision: Decision) -> ApiError:
    """429, or 503 when Redis is away and the policy is closed then."""
    values = headers.values([decision])
    if decision.reason is Reason.OUTAGE:
        return unavailable()
    extra = answers.problem_extra(decision)
    return ApiError(answers.STATUS, answers.CODE, answers.detail(decision), headers=values, **extra)


def unavailable(error: Exception | None = None) -> ApiError:
    return ApiError(503, *explained(error), headers={"Retry-After": "5"})
