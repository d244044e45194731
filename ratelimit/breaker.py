"""A circuit breaker: when Redis does not answer, pause the calls. Imports no Django."""

from __future__ import annotations

import threading
from time import monotonic

FAILURES = 3
PAUSE = 1.0  # seconds


class Breaker:
    """Opens after `failures` in a row; then lets one call through every `pause` seconds.

    While it is open, only that call waits for a timeout.
    """

    def __init__(self, failures: int = FAILURES, pause: float = PAUSE) -> None:
        self._threshold = failures
        self._pause = pause
        self._failures = 0
        self._next_probe = 0.0
        self._probing = threading.Lock()

    @property
    def is_open(self) -> bool:
        return self._failures >= self._threshold

    def allows(self) -> bool:
        """Whether to call Redis now."""
        if not self.is_open:
            return True
        with self._probing:
            now = monotonic()
            if now < self._next_probe:
                return False
            self._next_probe = now + self._pause
            return True

    def succeeded(self) -> None:
        if self._failures:
            self._failures = 0

    def failed(self) -> None:
        with self._probing:
            self._failures += 1
            self._next_probe = monotonic() + self._pause
