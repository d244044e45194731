"""Growth from a thousand entries to millions, and several processes on one Redis.

A million by default; `SCALE_LARGEST=10000000 make bench ARGS="scale"` goes to ten million, which
takes a quarter of an hour and 3 GB. Plots go to `docs/plots/`.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import redis

from bench.harness import Report, compare, duration, own_server, processor_clock
from bench.plots import save_lines
from leaderboard import RedisLeaderboard, keys

PLOTS = Path(__file__).resolve().parent.parent / "docs" / "plots"
SMALLEST = 1_000
LARGEST = int(os.environ.get("SCALE_LARGEST", "1000000"))
PROCESSES = (1, 2, 4)
SECONDS = 2.0  # for each number of processes
# A board as people make it: ties by time, a season, the event log is the worker's to trim.
RULES = {"ties": "earliest", "operator": "best"}
OPERATIONS = ("submit", "rank", "around", "top 10")
CLOSE = "close, each player"
PORTION = 250  # as an archive reads


def entries(count: int) -> Iterator[tuple[str, float, float, int, int, list[str]]]:
    for number in range(count):
        # Scrambled, so that ranks have nothing to do with ids.
        score = float(number * 2_654_435_761 % 4_294_967_296)
        yield f"player:{number}", score, 0.0, 1_700_000_000_000_000 + number, number, []


def sizes() -> list[int]:
    found, size = [], SMALLEST
    while size <= LARGEST:
        found.append(size)
        size *= 10
    return found


def season_board(client: redis.Redis, name: object, season: int = 1) -> RedisLeaderboard:
    key = f"leaderboard:{{{name}}}"
    client.hset(keys.season_pointer(key), mapping={"number": season, "state": "open"})
    return RedisLeaderboard(client, key, None, season=season, **RULES)


def run(report: Report) -> None:
    growth(report)
    processes(report)


def growth(report: Report) -> None:
    """The same calls on boards of every size, in turn, on one server."""
    per_entry: dict[int, float] = {}
    boards: dict[int, RedisLeaderboard] = {}
    chance = random.Random(1)
    with own_server() as server, server.client() as client:
        assert server.process is not None
        clock = processor_clock(server.process.pid)
        for size in sizes():
            board = season_board(client, size)
            before = client.info("memory")["used_memory"]
            board.fill(entries(size))
            per_entry[size] = (client.info("memory")["used_memory"] - before) / size
            boards[size] = board

        def call(name: str, size: int) -> Callable[[], Any]:
            board = boards[size]
            return {
                "submit": lambda: board.submit(somebody(size), chance.randrange(2**32)),
                "rank": lambda: board.get_rank(somebody(size)),
                "around": lambda: board.get_around_user(somebody(size), 11),
                "top 10": lambda: board.get_top(10),
            }[name]

        def somebody(size: int) -> str:
            return f"player:{chance.randrange(size)}"

        seconds: dict[str, list[tuple[float, float]]] = {}
        ratios: dict[str, float] = {}
        for name in OPERATIONS:
            result = compare({str(size): call(name, size) for size in boards}, clock=clock)
            seconds[name] = [(size, result.median(str(size)) * 1e6) for size in boards]
            ratios[name] = 1 / result.speed_ratio(str(max(boards)), str(SMALLEST))
        seconds[CLOSE] = [(size, close(client, size, clock) / size * 1e6) for size in boards]
        ratios[CLOSE] = seconds[CLOSE][-1][1] / seconds[CLOSE][0][1]
    report.table(
        ["entries", "bytes each", *seconds],
        [
            [
                f"{size:,}",
                f"{per_entry[size]:.0f}",
                *(duration(dict(line)[size] / 1e6) for line in seconds.values()),
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


def close(client: redis.Redis, size: int, clock: Callable[[], float]) -> float:
    """Read a season to its end and drop it, in an archive's portions; SQL is not in it."""
    ended, running = season_board(client, size), season_board(client, size, season=2)
    start, offset = clock(), 0
    while ended.get_page(offset, PORTION):
        offset += PORTION
    while running.drop_season(1):
        pass
    return clock() - start


def _submit_for(port: int, seconds: float, number: int, start: Any, results: Any) -> None:
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
