"""Growth from a thousand entries to millions, and several processes on one Redis.

A million by default; `SCALE_LARGEST=10000000 make bench ARGS="scale"` goes to ten million, which
takes some minutes and 5 GB. Plots go to `docs/plots/`.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Report, compare, duration, own_server
from bench.plots import save_lines
from leaderboard import RedisLeaderboard

PLOTS = Path(__file__).resolve().parent.parent / "docs" / "plots"
SMALLEST = 1_000
LARGEST = int(os.environ.get("SCALE_LARGEST", "1000000"))
PROCESSES = (1, 2, 4)
SECONDS = 2.0  # for each number of processes
# A board as people make it: ties by time, a season, the event log is the worker's to trim.
RULES = {"ties": "earliest", "operator": "best"}
OPERATIONS = ("submit", "rank", "around", "top 10")


def entries(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        # Scrambled, so that ranks have nothing to do with ids.
        score = number * 2_654_435_761 % 4_294_967_296
        yield {"user_id": f"player:{number}", "score": score, "at": 1_700_000_000_000_000 + number}


def sizes() -> list[int]:
    found, size = [], SMALLEST
    while size <= LARGEST:
        found.append(size)
        size *= 10
    return found


def run(report: Report) -> None:
    growth(report)
    processes(report)


def growth(report: Report) -> None:
    """The same calls on boards of every size, in turn, on one server."""
    per_entry: dict[int, float] = {}
    boards: dict[int, RedisLeaderboard] = {}
    pick = random.Random(1)
    with own_server() as server, server.client() as client:
        for size in sizes():
            board = RedisLeaderboard(client, f"leaderboard:{{{size}}}", max_entries=None, **RULES)
            before = client.info("memory")["used_memory"]
            board.load(entries(size))
            per_entry[size] = (client.info("memory")["used_memory"] - before) / size
            boards[size] = board

        def calls(name: str) -> dict[str, Any]:
            def call(size: int) -> Any:
                board = boards[size]
                known = [f"player:{pick.randrange(size)}" for _ in range(256)]
                some = iter(known * 100_000)
                return {
                    "submit": lambda: board.submit(next(some), pick.randrange(2**32)),
                    "rank": lambda: board.get_rank(next(some)),
                    "around": lambda: board.get_around_user(next(some), 11),
                    "top 10": lambda: board.get_top(10),
                }[name]

            return {str(size): call(size) for size in boards}

        seconds: dict[str, list[tuple[float, float]]] = {}
        ratios: dict[str, float] = {}
        for name in OPERATIONS:
            result = compare(calls(name))
            seconds[name] = [(size, result.median(str(size)) * 1e6) for size in boards]
            ratios[name] = 1 / result.speed_ratio(str(max(boards)), str(SMALLEST))
    report.table(
        ["entries", "bytes each", *OPERATIONS],
        [
            [
                f"{size:,}",
                f"{per_entry[size]:.0f}",
                *(duration(dict(seconds[name])[size] / 1e6) for name in OPERATIONS),
            ]
            for size in boards
        ],
    )
    report.table(
        [f"time at {max(boards):,} entries over {SMALLEST:,}", "ratio"],
        [[name, report.verdict(f"growth of {name}", ratios[name], at_most=2)] for name in ratios],
    )
    save_lines(PLOTS / "growth-time.svg", "Time of one call", "entries", "µs", seconds)
    save_lines(
        PLOTS / "growth-memory.svg",
        "Memory of one entry, without details",
        "entries",
        "bytes",
        {"bytes": list(per_entry.items())},
    )


def _submit_for(port: int, seconds: float, number: int, start: Any, results: Any) -> None:
    import redis

    with redis.Redis(port=port) as client:
        board = RedisLeaderboard(client, "leaderboard:{shared}", max_entries=None, **RULES)
        pick = random.Random(number)
        board.submit("warm", 1)
        start.wait()
        count, until = 0, time.perf_counter() + seconds
        while time.perf_counter() < until:
            rows = [
                {"user_id": f"player:{pick.randrange(100_000)}", "score": pick.randrange(2**32)}
                for _ in range(100)
            ]
            board.submit_many(rows)
            count += len(rows)
        results.put(count / seconds)


def processes(report: Report) -> None:
    """Writers that send a hundred scores at a time, as a busy web process does."""
    context = multiprocessing.get_context("spawn")
    rates: dict[int, float] = {}
    with own_server(pin=False) as server:
        for count in PROCESSES:
            start, results = context.Barrier(count), context.Queue()
            workers = [
                context.Process(
                    target=_submit_for, args=(server.port, SECONDS, number, start, results)
                )
                for number in range(count)
            ]
            for worker in workers:
                worker.start()
            rates[count] = sum(results.get() for _ in workers)
            for worker in workers:
                worker.join()
    report.table(
        ["processes on one Redis", "scores/s", "over one"],
        [[count, f"{rate:,.0f}", f"{rate / rates[1]:.2f}"] for count, rate in rates.items()],
    )
    save_lines(
        PLOTS / "processes.svg",
        f"Scores a second, {os.cpu_count()} CPUs for all of it",
        "processes",
        "scores/s",
        {"scores/s": list(rates.items())},
    )
