"""Leases of any length: in each event loop one task renews all that its coroutines hold."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from ratelimit import guard, policies
from ratelimit.algorithms import Algorithm
from ratelimit.decision import Decision


class _Keeper:
    """Holds the leases of one loop, and lives only while there are any."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, str]] = {}  # lease to policy and caller
        self._task: asyncio.Task[None] | None = None

    def keep(self, policy: str, caller: str, lease: str) -> None:
        self._held[lease] = policy, caller
        if self._task is None:
            self._task = asyncio.create_task(self._renew())

    def drop(self, lease: str) -> None:
        self._held.pop(lease, None)
        if not self._held and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _renew(self) -> None:
        while True:
            # Three chances before the shortest of them ends.
            names = {policy for policy, _ in self._held.values()}
            await asyncio.sleep(min(map(_lease_seconds, names)) / 3)
            for lease, (policy, caller) in list(self._held.items()):
                if lease in self._held:
                    await guard.arenew(policy, caller, lease)


def _lease_seconds(policy: str) -> int:
    limits = policies.get(policy).limits
    return min(limit.window for limit in limits if limit.algorithm is Algorithm.AT_ONCE)


_keepers: WeakKeyDictionary[asyncio.AbstractEventLoop, _Keeper] = WeakKeyDictionary()


@asynccontextmanager
async def hold(policy: str, caller: str) -> AsyncIterator[Decision]:
    """Hold a place "at once" for as long as the block lasts, when the decision allows it."""
    lease = secrets.token_hex(8)
    decision = await guard.ahit(policy, caller, lease=lease)
    if not decision.allowed or not decision.policy.has_leases:
        yield decision
        return
    keeper = _keepers.setdefault(asyncio.get_running_loop(), _Keeper())
    keeper.keep(policy, caller, lease)
    try:
        yield decision
    finally:
        keeper.drop(lease)
        await guard.arelease(policy, caller, lease)
