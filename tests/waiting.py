"""Free ports, and the one way in which tests wait."""

from __future__ import annotations

import contextlib
import random
import socket
import time
from collections.abc import Callable
from typing import Any

_given: set[int] = set()


def free_port() -> int:
    """A port that nobody has now, and that no outgoing connection is given before its server
    starts, or while it is stopped: systems take those from 32768 up."""
    while True:
        port = random.randrange(15000, 32000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            if port not in _given:
                _given.add(port)
                return port


def wait_for(condition: Callable[[], Any], timeout: float = 20.0, step: float = 0.01) -> Any:
    """Poll until `condition` is true; the only waiting that tests do."""
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"Not true within {timeout} s: {condition}")
        time.sleep(step)
