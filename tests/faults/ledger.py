"""Clients that go on whatever happens, and a ledger of every write acknowledged to them."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any


@dataclass
class Ledger:
    """What the clients were told, and when."""

    acknowledged: Counter[str] = field(default_factory=Counter)  # points by player
    unfinished: Counter[str] = field(default_factory=Counter)  # told neither yes nor no
    answers: Counter[str] = field(default_factory=Counter)  # by status; `broken` without one
    times: list[float] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.acknowledged.values())

    def longest_gap(self) -> float:
        """Seconds in which no write was acknowledged to anybody."""
        times = sorted(self.times)
        return max((after - before for before, after in pairwise(times)), default=0.0)


class Clients:
    """Threads that each add one point after the other, under an idempotency key of its own.

    A write that was refused or broke off is sent again under the same key until it is
    acknowledged: what a careful client does. So in the end each key counts exactly once.
    """

    def __init__(
        self, port: int, slug: str, token: str, *, threads: int = 4, pace: float = 0.01
    ) -> None:
        self.port, self.slug, self.token, self.pace = port, slug, token, pace
        self.ledger = Ledger()
        self.name = f"{time.time_ns():x}"
        self._stopping = threading.Event()
        self._give_up = float("inf")
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._run, args=(number,), daemon=True)
            for number in range(threads)
        ]

    def start(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def stop(self, patience: float = 40.0) -> Ledger:
        """Finish what is under way, within `patience` seconds."""
        self._give_up = time.monotonic() + patience
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        return self.ledger

    def __enter__(self) -> Clients:
        return self.start()

    def __exit__(self, *details: object) -> None:
        self.stop()

    def acknowledges(self, more: int = 20) -> Any:
        """A condition for `wait_for`: so many further writes were acknowledged."""
        goal = self.ledger.total + more
        return lambda: self.ledger.total >= goal

    def _run(self, thread: int) -> None:
        connection: http.client.HTTPConnection | None = None
        number = 0
        while not self._stopping.is_set():
            player = f"player-{thread}-{number % 5}"
            key = f"{self.name}-{thread}-{number}"
            done = False
            while not done and time.monotonic() < self._give_up:
                try:
                    if connection is None:
                        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=8)
                    status = self._submit(connection, player, key)
                except (OSError, http.client.HTTPException):
                    if connection is not None:
                        connection.close()
                    connection, status = None, 0
                done = self._note(player, status)
                time.sleep(self.pace if done else 0.05)
            if not done:
                with self._lock:
                    self.ledger.unfinished[player] += 1
            number += 1
        if connection is not None:
            connection.close()

    def _submit(self, connection: http.client.HTTPConnection, player: str, key: str) -> int:
        connection.request(
            "POST",
            f"/api/v1/boards/{self.slug}/scores",
            json.dumps({"player": player, "score": 1, "operator": "sum"}),
            {
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                "Idempotency-Key": key,
            },
        )
        answer = connection.getresponse()
        answer.read()
        return answer.status

    def _note(self, player: str, status: int) -> bool:
        done = 200 <= status < 300
        with self._lock:
            self.ledger.answers[str(status) if status else "broken"] += 1
            if done:
                self.ledger.acknowledged[player] += 1
                self.ledger.times.append(time.monotonic())
        return done


class Watcher:
    """An open live page: the newest sequence it has shown, and how often it had to reconnect."""

    def __init__(self, port: int, slug: str) -> None:
        self.port, self.slug = port, slug
        self.sequence = 0
        self.opened = 0
        self.away = 0
        self._stopping = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> Watcher:
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stopping = True

    def _run(self) -> None:
        while not self._stopping:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                connection.request(
                    "GET", f"/live/boards/{self.slug}/", headers={"Accept": "text/event-stream"}
                )
                answer = connection.getresponse()
                if answer.status == 200:
                    self.opened += 1
                    self._read(answer)
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()
            time.sleep(0.2)  # as a browser does, only sooner

    def _read(self, answer: http.client.HTTPResponse) -> None:
        while not self._stopping:
            line = answer.readline()
            if not line:
                return
            if line.startswith(b"id:"):
                self.sequence = max(self.sequence, int(line[3:]))
            elif b'"away":true' in line:
                self.away += 1
