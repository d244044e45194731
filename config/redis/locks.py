"""A lock on redis-py's, with what it leaves out: renewal while held, and a fencing number."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from redis.exceptions import LockError, LockNotOwnedError, RedisError

from config import keys
from config.redis.connections import OUTAGE_ERRORS, get_redis


class LockTakenError(Exception):
    """Somebody else holds the lock."""


@dataclass(frozen=True)
class Held:
    """A lock in hand. `fence` grows with every holder: a store that remembers the largest it has
    seen can refuse a holder who was paused and came back after losing the lock."""

    name: str
    fence: int
    _lost: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def lost(self) -> bool:
        return self._lost.is_set()

    def check(self) -> None:
        """Raise when the lock went to somebody else meanwhile; call before each lasting step."""
        if self.lost:
            raise LockTakenError(f"The lock {self.name!r} was lost while held.")


@contextmanager
def hold(
    name: str, *, timeout: float = 30.0, wait: float = 0.0, client: Any = None
) -> Iterator[Held]:
    """Hold the lock `name` for the length of the block.

    It expires `timeout` seconds after its holder died and is renewed three times as often while
    the holder lives. `wait` is how long to wait for it; `LockTakenError` when that was too short.
    """
    client = client or get_redis()
    lock = client.lock(
        keys.lock(name), timeout=timeout, sleep=min(0.1, timeout / 10), thread_local=False
    )
    if not lock.acquire(blocking=wait > 0, blocking_timeout=wait or None):
        raise LockTakenError(f"The lock {name!r} is held by another process.")
    held = Held(name, int(client.incr(keys.fence(name))))
    released = threading.Event()

    def renew() -> None:
        while not released.wait(timeout / 3):
            try:
                lock.reacquire()
            except LockNotOwnedError:
                held._lost.set()
                return
            except OUTAGE_ERRORS:
                continue  # the next round may succeed; if not, the lock will be found lost

    renewer = threading.Thread(target=renew, name=f"renew {name}", daemon=True)
    renewer.start()
    try:
        yield held
    finally:
        released.set()
        renewer.join()
        try:
            lock.release()
        except (LockError, RedisError):
            held._lost.set()  # it expired, or will by itself; whoever has it next keeps it
