"""The worker: a thread per duty. Each survives outages and stops when the worker stops."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable

from django.db import DatabaseError, close_old_connections, connections

from config.processes import Wakeup
from config.redis import functions, versions
from config.redis.connections import OUTAGE_ERRORS, get_redis
from config.redis.locks import LockTakenError, hold
from leaderboard.log import consumer
from leaderboard.worker import clock

logger = logging.getLogger("rostrum.worker")

TICK = 0.5  # seconds between two rounds of the clock
IDLE = 0.25  # seconds between two reads of the log where one read cannot wait for all boards
BLOCKED = 1.0  # seconds that a read of the log waits; then new boards are included
# After a few events, wait for more: a transaction costs as much as a hundred rows.
FEW, GATHER = 100, 0.05
SWEEP = 30.0
RETRY = (0.5, 1.0, 2.0, 5.0)  # seconds after the first failure, the second, …
OUTAGES: tuple[type[Exception], ...] = (*OUTAGE_ERRORS, DatabaseError)
LEADER_TIMEOUT = 10.0  # seconds until another worker replaces a dead leader
STOP_WITHIN = 2.5


class Worker:
    """`run` returns when `stop` was called and every duty has ended, or after 2.5 s."""

    def __init__(self) -> None:
        self.asked_to_stop = Wakeup()  # a signal handler sets it, and must take no lock
        self.stopping = threading.Event()
        self.finishing = clock.Clock()
        self.duties: list[tuple[str, Callable[[], None]]] = [
            ("clock", self.keep_time),
            ("rebuild", self.rebuild),
            ("archive", self.archive),
            ("log", self.store_events),
            ("sweep", self.sweep),
        ]

    def run(self) -> bool:
        """True when everything ended in order."""
        with contextlib.suppress(*OUTAGES):  # the first call loads them otherwise
            functions.load_all(get_redis())
        threads = [
            threading.Thread(target=self.repeat, args=duty, name=duty[0], daemon=True)
            for duty in self.duties
        ]
        for thread in threads:
            thread.start()
        logger.info("Worker is up")
        self.asked_to_stop.wait()
        self.stopping.set()
        deadline = time.monotonic() + STOP_WITHIN
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)

    def stop(self) -> None:
        """From any thread, or from a signal handler."""
        self.asked_to_stop.set()

    def repeat(self, name: str, duty: Callable[[], None]) -> None:
        """Run a duty again after an error; log an outage once, a bug each time."""
        failures = 0
        while not self.stopping.is_set():
            try:
                close_old_connections()
                duty()
                if failures:
                    logger.info("Works again", extra={"duty": name})
                failures = 0
            except OUTAGES as error:
                if not failures:
                    logger.warning(
                        "Interrupted, will continue", extra={"duty": name, "error": repr(error)}
                    )
                failures += 1
            except Exception:
                logger.exception("Failed, will continue", extra={"duty": name})
                failures += 1
            if failures:
                self.stopping.wait(RETRY[min(failures, len(RETRY)) - 1])
        connections.close_all()

    # Each returns after one round, so that `repeat` sees that it works.

    def keep_time(self) -> None:
        """As long as this worker is the leader; the others wait their turn."""
        try:
            with hold("season-clock", timeout=LEADER_TIMEOUT) as leading:
                ticking = clock.Clock(finishes=False)
                while not self.stopping.is_set() and not leading.lost:
                    ticking.tick()
                    close_old_connections()
                    self.stopping.wait(TICK)
        except LockTakenError:
            self.stopping.wait(1.0)

    def rebuild(self) -> None:
        self.finishing.finish_waiting()
        self.stopping.wait(TICK)

    def archive(self) -> None:
        clock.archive_waiting()
        self.stopping.wait(TICK)

    def store_events(self) -> None:
        reader = consumer.Consumer()
        while not self.stopping.is_set():
            seen = reader.run_once() or reader.wait(BLOCKED)
            if seen is None:
                self.stopping.wait(IDLE)
            elif 0 < seen < FEW:
                self.stopping.wait(GATHER)
            close_old_connections()

    def sweep(self) -> None:
        versions.note_use(get_redis())
        versions.delete_unused(get_redis())
        clock.sweep()
        self.stopping.wait(SWEEP)
