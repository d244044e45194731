"""A serving process and its children, which never outlive it.

The serving process holds an exclusive lock on a file for as long as its children should run. Each
child has a thread that waits for a shared lock on it. The kernel grants that when the holder
releases the lock or ends, even by `kill -9`, and the child begins to stop. No polling, no signal
that a busy child could miss.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

PARENT_LOCK = "ROSTRUM_PARENT_LOCK"
GRACE = 4.0  # seconds for an orderly end; then the process exits in any case


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


class Wakeup:
    """An event that a signal handler can set. `threading.Event` is not safe for that: its `set`
    takes a lock, which the interrupted thread may hold. Here `set` writes a byte to a pipe.

    Python runs handlers in the main thread, between two of its instructions. A signal that comes
    just before a system call, or that the kernel gives to another thread, interrupts nothing, so
    `wait` wakes up every `ROUND` seconds.
    """

    ROUND = 0.25

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    def set(self) -> None:
        with contextlib.suppress(BlockingIOError):  # a full pipe wakes as well
            os.write(self._writer, b"\0")

    def is_set(self) -> bool:
        return self.wait(0)

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it is set, at the latest after `timeout` seconds."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        waiting = select.poll()
        waiting.register(self._reader, select.POLLIN)
        while True:
            left = max(0.0, deadline - time.monotonic())
            if waiting.poll(min(self.ROUND, left) * 1000):
                return True
            if left <= self.ROUND:
                return False

    def clear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._reader, 4096):
                pass

    def __del__(self) -> None:
        os.close(self._reader)
        os.close(self._writer)


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
