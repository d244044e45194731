"""What every measurement needs: interleaved rounds, medians of ratios, a server of its own.

A machine's speed drifts within minutes, so two things measured one after the other cannot be
compared. `compare` runs its contestants in turn, in rounds of a few hundredths of a second, and
judges by the median of the ratios within each round.

On a machine that does other work too, the time on the wall tells more of that work than of ours.
`processor_clock` counts the processor time of this process and of its server together: when both
are pinned to one idle CPU, that is the time on the wall.
"""

from __future__ import annotations

import contextlib
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.servers import RedisServer, redis_server

ROUND_SECONDS = 0.04
ROUNDS = 15


@dataclass(frozen=True)
class Comparison:
    """Seconds per call of each contestant, round by round."""

    seconds: dict[str, list[float]]

    def median(self, name: str) -> float:
        return statistics.median(self.seconds[name])

    def per_second(self, name: str) -> float:
        return 1 / self.median(name)

    def speed_ratio(self, name: str, against: str) -> float:
        """How many times as fast `name` is: above 1 means faster."""
        pairs = zip(self.seconds[name], self.seconds[against], strict=True)
        return statistics.median(other / own for own, other in pairs)


def compare(
    contestants: Mapping[str, Callable[[], Any]],
    *,
    rounds: int = ROUNDS,
    round_seconds: float = ROUND_SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> Comparison:
    """Run the contestants in turn; the order is reversed every other round, to be fair to all."""
    calls = {name: _calls_for(call, round_seconds, clock) for name, call in contestants.items()}
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            seconds[name].append(_seconds_per_call(contestants[name], calls[name], clock))
    return Comparison(seconds)


def processor_clock(*pids: int | None) -> Callable[[], float]:
    """Processor time of this process and of others, where the system tells; else the wall's."""
    # How Linux names the clock of another process's processor time.
    clocks = [((~pid) << 3) | 2 for pid in pids if pid is not None]
    try:
        for clock in clocks:
            time.clock_gettime(clock)
    except OSError:
        return time.perf_counter
    return lambda: time.process_time() + sum(time.clock_gettime(clock) for clock in clocks)


def _calls_for(call: Callable[[], Any], round_seconds: float, clock: Callable[[], float]) -> int:
    call()  # loads scripts, opens connections
    seconds = min(_seconds_per_call(call, 1, clock) for _ in range(3))
    return max(1, round(round_seconds / max(seconds, 1e-9)))


def _seconds_per_call(call: Callable[[], Any], count: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count


@contextlib.contextmanager
def pinned(cpu: int | None = None) -> Iterator[None]:
    """Keep this process, and what it starts meanwhile, on one CPU; elsewhere than Linux, nothing.

    Between two CPUs every round trip pays for a wake-up that hides everything else.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before) if cpu is None else cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def own_server(
    binary: str | Path | None = None, *, pin: bool = True, **options: str
) -> Iterator[RedisServer]:
    """A server for one measurement, by default on the same single CPU as this process."""
    with pinned() if pin else contextlib.nullcontext(), redis_server(binary, **options) as server:
        yield server


def duration(seconds: float) -> str:
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


@dataclass
class Report:
    """Prints Markdown, so that a run can be pasted into `docs/performance.md`."""

    missed: list[str] = field(default_factory=list)
    checked: int = 0

    @property
    def all_reached(self) -> bool:
        return not self.missed

    def heading(self, name: str, command: str) -> None:
        self.line(f"\n## {name}\n\n`{command}` · {platform.machine()}, {os.cpu_count()} CPUs\n")

    def line(self, text: str = "") -> None:
        print(text, flush=True)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        cells = [[str(cell) for cell in row] for row in [columns, *rows]]
        widths = [max(len(row[index]) for row in cells) for index in range(len(columns))]
        for number, row in enumerate(cells):
            self.line(
                "| " + " | ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)) + " |"
            )
            if number == 0:
                self.line("|" + "|".join("-" * (width + 2) for width in widths) + "|")
        self.line()

    def verdict(
        self,
        what: str,
        value: float,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> str:
        """`0.81 (≥ 0.75)`, remembered for the summary when it is missed."""
        self.checked += 1
        text, missed = f"{value:.2f}", False
        if at_least is not None:
            text, missed = f"{text} (≥ {at_least:g})", value < at_least
        if at_most is not None:
            text, missed = f"{text} (≤ {at_most:g})", missed or value > at_most
        if missed:
            text += " missed"
            self.missed.append(f"{what}: {text}")
        return text

    def summary(self) -> None:
        self.line(f"{self.checked - len(self.missed)} of {self.checked} marks reached.")
        for text in self.missed:
            self.line(f"- {text}")
