"""The local shield: refuses denied callers until their denials end. Imports no Django."""

from __future__ import annotations

import threading
from time import monotonic

from ratelimit.algorithms import Algorithm
from ratelimit.decision import Decision, Reason

MAX_ENTRIES = 10_000
new = tuple.__new__
_LIMITS = Reason.LIMITS


# The end, the cost that was denied, and the reset, on the monotonic clock; then the tightest
# limit, what remains of it, and the decision. Flat, because it is unpacked for every refusal.
_Denial = tuple[float, int, float, int, int, Decision]


class Shield:
    """Keeps denials, at most `max_entries`, and drops the oldest first.

    It never refuses longer than Redis would: the time counts from before the call was sent, a
    cheaper call than the denied one is sent to Redis, and a denial that can end early (a lease
    given back) is not kept. Code that resets or changes limits calls `clear()`.
    """

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._max_entries = max_entries
        # Read without the lock: a lookup in a dict is atomic, and an old entry has only expired.
        self._denials: dict[tuple[str, str], _Denial] = {}
        self._writing = threading.Lock()

    def __len__(self) -> int:
        return len(self._denials)

    def refusal(self, policy_name: str, caller: str, cost: int) -> Decision | None:
        """The denial that still holds for this call, with the times that are left; else None."""
        denial = self._denials.get((policy_name, caller))
        if denial is None:
            return None
        until, denied_cost, reset, limit, remaining, decision = denial
        now = monotonic()
        if now >= until or cost < denied_cost:
            return None
        if decision.several:
            return _aged(decision, now - (reset - decision.reset_after))
        # As the class would make it, without the cost of its keyword arguments.
        return new(
            Decision,
            (False, limit, remaining, reset - now, until - now, decision.policy, (), _LIMITS),
        )

    def remember(self, caller: str, cost: int, asked: float, decision: Decision) -> None:
        """Keep a denial; `asked` is the monotonic time before the call was sent."""
        policy = decision.policy
        waits = [
            state.retry_after
            for limit, state in zip(policy.limits, decision.limit_states, strict=True)
            if limit.algorithm is not Algorithm.AT_ONCE
        ]
        wait = max(waits, default=0.0)
        if wait <= 0:
            return
        with self._writing:
            self._denials.pop((policy.name, caller), None)
            while len(self._denials) >= self._max_entries:
                del self._denials[next(iter(self._denials))]
            reset = asked + decision.reset_after
            self._denials[policy.name, caller] = (
                asked + wait,
                cost,
                reset,
                decision.limit,
                decision.remaining,
                decision,
            )

    def forget(self, policy_name: str, caller: str) -> None:
        with self._writing:
            self._denials.pop((policy_name, caller), None)

    def clear(self) -> None:
        with self._writing:
            self._denials.clear()


def _aged(decision: Decision, passed: float) -> Decision:
    """The same denial by several limits, `passed` seconds later."""
    return decision._replace(
        reset_after=max(0.0, decision.reset_after - passed),
        retry_after=decision.retry_after - passed,
        several=tuple(
            state._replace(
                reset_after=max(0.0, state.reset_after - passed),
                retry_after=max(0.0, state.retry_after - passed),
            )
            for state in decision.several
        ),
    )
