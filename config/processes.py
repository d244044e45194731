"""Processes that belong together: one that serves, and its children, who never outlive it.

The serving process holds an exclusive lock on a file for as long as it wants its children to run.
Each child has a thread that waits for a shared lock on it. The kernel hands that out when the
holder lets go, on purpose or by `kill -9`, and the child begins to stop. No polling, no signal
that a busy child could miss.
"""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

PARENT_LOCK = "ROSTRUM_PARENT_LOCK"
GRACE = 4.0  # seconds for an orderly end; then the process is gone in any case


class AlreadyRunningError(Exception):
    """Another process holds the lock."""


class FileLock:
    """An exclusive lock on a file, dropped by the kernel when its holder ends."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self.descriptor)
            raise AlreadyRunningError(str(path)) from None

    def release(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def when_parent_stops(stop: Callable[[], object]) -> None:
    """Call `stop` in a thread when the serving process stops or dies, and end after `GRACE`.

    Does nothing in a process that was not started by `manage.py serve`.
    """
    path = os.environ.get(PARENT_LOCK)
    if not path:
        return
    descriptor = os.open(path, os.O_RDWR)

    def wait() -> None:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        os.close(descriptor)
        stop()
        time.sleep(GRACE)
        os._exit(1)

    threading.Thread(target=wait, name="parent watch", daemon=True).start()


def exit_with_parent() -> None:
    """End this process as by SIGTERM when the serving process stops or dies."""
    when_parent_stops(lambda: os.kill(os.getpid(), signal.SIGTERM))
