"""Plain-Python models of the algorithms: exact fractions, one list or number of state each.

Each answers `ask(now, cost)` with (fits, remaining, reset_after, retry_after) in microseconds
before anything is charged, and `charge(now, cost)`. A clock that stepped back is handled by
`settle(now)`, which a charging call runs first.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor


class FixedWindow:
    def __init__(self, count, window, burst):
        self.count, self.window = count, window
        self.opened, self.used = None, 0

    def settle(self, now):
        if self.opened is not None and now < self.opened:
            self.opened = now

    def _at(self, now):
        if self.opened is None or now >= self.opened + self.window:
            return now, 0
        return min(self.opened, now), self.used

    def ask(self, now, cost):
        opened, used = self._at(now)
        left = opened + self.window - now
        fits = used + cost <= self.count
        return fits, max(0, self.count - used), left if used else 0, 0 if fits else left

    def charge(self, now, cost):
        self.opened, used = self._at(now)
        self.used = used + cost


class SlidingLog:
    def __init__(self, count, window, burst):
        self.count, self.window = count, window
        self.times = []

    def settle(self, now):
        self.times = [min(time, now) for time in self.times]

    def _counted(self, now):
        return sorted(min(time, now) for time in self.times if time > now - self.window)

    def ask(self, now, cost):
        counted = self._counted(now)
        excess = len(counted) + cost - self.count
        reset = counted[-1] + self.window - now if counted else 0
        retry = 0
        if excess > 0:
            leaving = counted[min(excess, len(counted)) - 1] if counted else now
            retry = leaving + self.window - now
        return excess <= 0, max(0, self.count - len(counted)), reset, retry

    def charge(self, now, cost):
        self.times = self._counted(now) + [now] * cost


class SlidingCounter:
    def __init__(self, count, window, burst):
        self.count, self.window = count, window
        self.opened, self.current, self.previous = None, 0, 0

    def settle(self, now):
        if self.opened is not None and now < self.opened:
            self.opened = now

    def _at(self, now):
        if self.opened is None or now >= self.opened + 2 * self.window:
            return now, 0, 0
        if now >= self.opened + self.window:
            return self.opened + self.window, 0, self.current
        return min(self.opened, now), self.current, self.previous

    def _weight(self, state, now):
        """What counts at a later `now`, when nothing more is charged."""
        opened, current, previous = state
        if now >= opened + 2 * self.window:
            return Fraction(0)
        if now >= opened + self.window:
            opened, current, previous = opened + self.window, 0, current
        return current + previous * Fraction(opened + self.window - now, self.window)

    def ask(self, now, cost):
        state = opened, current, previous = self._at(now)
        weight = self._weight(state, now)
        fits = weight + cost <= self.count
        left = opened + self.window - now
        reset = left + self.window if current else left if previous else 0
        retry = 0
        if not fits:
            # The first microsecond at which it fits, found by halving: the weight only falls.
            low, high = 0, left + self.window
            while low < high:
                middle = (low + high) // 2
                if self._weight(state, now + middle) + cost <= self.count:
                    high = middle
                else:
                    low = middle + 1
            retry = low
        return fits, max(0, floor(self.count - weight)), reset, retry

    def charge(self, now, cost):
        self.opened, current, self.previous = self._at(now)
        self.current = current + cost


class TokenBucket:
    def __init__(self, count, window, burst):
        self.count, self.window, self.burst = count, window, burst
        self.at, self.missing = None, Fraction(0)

    def settle(self, now):
        if self.at is not None and now < self.at:
            self.at = now

    def _at(self, now):
        if self.at is None:
            return Fraction(0)
        flowed = Fraction(max(0, now - self.at) * self.count, self.window)
        return max(Fraction(0), self.missing - flowed)

    def ask(self, now, cost):
        missing = self._at(now)
        excess = missing + cost - self.burst
        retry = max(0, ceil(excess * self.window / self.count))
        reset = ceil(missing * self.window / self.count)
        return excess <= 0, floor(self.burst - missing), reset, retry

    def charge(self, now, cost):
        self.missing = self._at(now) + cost
        self.at = now


class Gcra:
    def __init__(self, count, window, burst):
        self.spacing = -(-window // count)
        self.ahead = burst * self.spacing
        self.due = None

    def settle(self, now):
        self.due = None if self.due is None else min(self.due, now + self.ahead)

    def _at(self, now):
        return now if self.due is None else min(max(self.due, now), now + self.ahead)

    def ask(self, now, cost):
        due = self._at(now)
        excess = due + cost * self.spacing - now - self.ahead
        remaining = (now + self.ahead - due) // self.spacing
        return excess <= 0, remaining, due - now, max(0, excess)

    def charge(self, now, cost):
        self.due = self._at(now) + cost * self.spacing


MODELS = {
    "fixed_window": FixedWindow,
    "sliding_log": SlidingLog,
    "sliding_counter": SlidingCounter,
    "token_bucket": TokenBucket,
    "gcra": Gcra,
}
