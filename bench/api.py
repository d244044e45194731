"""The API against a bare ASGI function on the same server: 2 processes, 64 connections."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bench import floors
from bench.harness import Report, duration, own_server
from bench.load import Generator, Load, Request, http
from leaderboard import RedisLeaderboard, keys
from tests.servers import RedisServer, free_port, wait_for

ROOT = Path(__file__).resolve().parent.parent
PLAYERS = 100_000
CONNECTIONS = 64
PROCESSES = 2
ROUNDS = 5
ROUND_SECONDS = 0.6
BULK = 1000

_SETUP = f"""
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from leaderboard.access.audit import Actor
from leaderboard.boards.changing import create_board
from leaderboard.boards.scores import submit_scores
from leaderboard.engine import Submission as Row
from leaderboard.models import ApiKey
board = create_board(
    actor=Actor("bench"), slug="bench", name="Bench", windows=["day", "week"],
    ties="earliest", operator="set",
)
names = ("name", "country", "avatar")
for start in range(0, {PLAYERS}, 10000):
    submit_scores(board=board, rows=[
        Row(f"player-{{n}}", float(n % 5000), metadata=dict(name=f"Player {{n}}", country="DE",
            avatar="fox"))
        for n in range(start, start + 10000)
    ])
token = ApiKey.make("bench", ["read", "submit"], all_boards=True,
                    rate="100000000/second, token bucket")[1]
print(token)
"""


def cpu_seconds(*processes: int) -> float:
    """What these processes and all below them have used; 0 where /proc does not tell."""
    children: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            number = int(entry.parent.name)
            children.setdefault(int(fields[1]), []).append(number)
            used[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    total, waiting = 0.0, list(processes)
    while waiting:
        number = waiting.pop()
        total += used.get(number, 0.0)
        waiting += children.get(number, [])
    return total


@contextlib.contextmanager
def serving(application: str, environment: dict[str, str]) -> Iterator[tuple[int, int]]:
    port = free_port()
    arguments = f"'127.0.0.1', {port}, {PROCESSES}, {application!r}"
    code = f"from config.web.server import serve; serve({arguments})"
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, env=environment
    )
    try:
        wait_for(lambda: _listens(port), timeout=90)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    import socket

    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


class Contest:
    """Two servers, one of them under load at a time, in turn."""

    def __init__(self, ours: tuple[int, int], bare: tuple[int, int], redis: int) -> None:
        self.sides = [(Generator(port, CONNECTIONS), pid, redis) for port, pid in (ours, bare)]

    @property
    def ours(self) -> Generator:
        return self.sides[0][0]

    def run(self, ours: Request, bare: Request) -> list[list[Load]]:
        requests = (ours, bare)
        for (generator, _, _), request in zip(self.sides, requests, strict=True):
            generator.run(request, 0.3)  # warm
        results: list[list[Load]] = [[], []]
        for number in range(ROUNDS):
            for side in (0, 1) if number % 2 else (1, 0):
                generator, *processes = self.sides[side]
                before = cpu_seconds(*processes)
                load = generator.run(requests[side], ROUND_SECONDS)
                load.cpu = (cpu_seconds(*processes) - before) / len(load.latencies)
                results[side].append(load)
        return results


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder, own_server(pin=False) as server:
        environment = os.environ | {
            "REDIS_URL": server.url,
            "VAR_DIR": folder,
            "LOG_LEVEL": "WARNING",
            "DATABASE_URL": "",
            "DEBUG": "",
        }
        made = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _SETUP],
            cwd=ROOT,
            env=environment,
            check=True,
            stdout=subprocess.PIPE,
        )
        token = made.stdout.decode().split()[-1]
        with (
            serving("config.asgi:application", environment) as ours,
            serving("bench.bare:application", environment) as bare,
        ):
            assert server.process is not None
            _measure(report, Contest(ours, bare, server.process.pid), token, server)


def _measure(report: Report, contest: Contest, token: str, server: RedisServer) -> None:
    key = f"Bearer {token}"
    numbers = itertools.count()
    board = "/api/v1/boards/bench"
    chance = random.Random(1)

    def score() -> bytes:
        return b'{"player":"player-%d","score":%d}' % (
            chance.randrange(PLAYERS),
            chance.randrange(10_000),
        )

    def submit() -> bytes:
        return http("POST", f"{board}/scores", score(), Authorization=key)

    def submit_once() -> bytes:
        return http(
            "POST",
            f"{board}/scores",
            score(),
            Authorization=key,
            Idempotency_Key=f"key-{next(numbers)}",
        )

    def bare_submit() -> bytes:
        return http("POST", "/score", score())

    def tutorial() -> bytes:
        return http("POST", "/tutorial", score())

    def around() -> bytes:
        return http(
            "GET",
            f"{board}/entries/around/player-{chance.randrange(PLAYERS)}",
            Authorization=key,
        )

    def bare_around() -> bytes:
        return http("GET", f"/around/player-{chance.randrange(PLAYERS)}")

    top = http("GET", f"{board}/entries?limit=100", Authorization=key)
    bare_top = http("GET", "/entries")
    rows = []
    for what, ours, bare, least in (
        ("POST scores", submit, bare_submit, 1.0),
        ("POST scores, idempotency key each", submit_once, bare_submit, 0.8),
    ):
        rows.append(_row(report, what, contest.run(ours, bare), least))
    found = contest.run(submit, tutorial)
    single = found[0]
    rows.append(_row(report, "POST scores, beside a tutorial's script", found, None))
    with _scores_arriving(contest.ours, token):
        found = contest.run(lambda: top, lambda: bare_top)
    rows.append(_row(report, "GET entries?limit=100, 100 scores/s", found, 3.0))
    rows.append(_row(report, "GET around, random players", contest.run(around, bare_around), 0.9))
    report.table(
        ["request", "ours/s", "p50", "p99", "CPU", "bare/s", "p50", "p99", "CPU", "ratio"], rows
    )
    _bulk(report, contest, key, single, server)


def _row(report: Report, what: str, found: list[list[Load]], least: float | None) -> list:
    ours, bare = found
    refused = sum(load.refused for load in ours)
    if refused:
        report.line(f"{what}: {refused} answers were not 200!")
    pairs = zip(ours, bare, strict=True)
    ratio = statistics.median(one.per_second / other.per_second for one, other in pairs)
    cells = [what]
    for loads in found:
        cells += [
            f"{statistics.median(load.per_second for load in loads):,.0f}",
            duration(statistics.median(load.percentile(50) for load in loads)),
            duration(statistics.median(load.percentile(99) for load in loads)),
            f"{statistics.median(load.cpu for load in loads) * 1e6:.0f} µs",
        ]
    verdict = f"{ratio:.2f}" if least is None else report.verdict(what, ratio, at_least=least)
    return [*cells, verdict]


@contextlib.contextmanager
def _scores_arriving(generator: Generator, token: str, rate: int = 100) -> Iterator[None]:
    """Somebody else submits, steadily, while the block runs."""
    import socket

    stop = threading.Event()
    port = generator.connections[0].socket.getpeername()[1]
    chance = random.Random(2)

    def submit() -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            begin, sent = time.perf_counter(), 0
            while not stop.is_set():
                body = b'{"player":"player-%d","score":1}' % chance.randrange(PLAYERS)
                path = "/api/v1/boards/bench/scores"
                connection.sendall(http("POST", path, body, Authorization=f"Bearer {token}"))
                connection.recv(65536)
                sent += 1
                time.sleep(max(0.0, begin + sent / rate - time.perf_counter()))

    thread = threading.Thread(target=submit)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _bulk(
    report: Report, contest: Contest, key: str, single: list[Load], server: RedisServer
) -> None:
    chance = random.Random(3)

    def request() -> bytes:
        rows = [
            {"player": f"player-{chance.randrange(PLAYERS)}", "score": chance.randrange(10_000)}
            for _ in range(BULK)
        ]
        body = json.dumps(rows).encode()
        return http("POST", "/api/v1/boards/bench/scores/bulk", body, Authorization=key)

    # Different rows each time, because a score that stands already costs less; made beforehand,
    # because making them would take the CPU from the server.
    waiting = itertools.cycle([request() for _ in range(2 * CONNECTIONS)])
    loads = [contest.ours.run(lambda: next(waiting), ROUND_SECONDS * 2) for _ in range(3)]
    rows_per_second = statistics.median(load.per_second * BULK for load in loads)
    singles = statistics.median(load.per_second for load in single)
    # What no bulk submission could pass: the sorted sets alone, with a whole CPU for Redis.
    with server.client() as client:
        board = RedisLeaderboard(
            client, keys.base("bench"), None, ties="earliest", windows=("day", "week"), season=1
        )
        floor = statistics.median(
            floors.sorted_sets_per_second(client, board, PLAYERS) for _ in range(5)
        )
    verdict = report.verdict(
        "POST scores/bulk, rows per second", rows_per_second / floor, at_least=0.6
    )
    report.table(
        ["request", "rows/s", "p50", "p99", "times POST scores", "ratio"],
        [
            [
                "POST scores/bulk of 1,000",
                f"{rows_per_second:,.0f}",
                duration(statistics.median(load.percentile(50) for load in loads)),
                duration(statistics.median(load.percentile(99) for load in loads)),
                f"{rows_per_second / singles:.2f}",
                verdict,
            ],
            [
                "its sorted sets alone, in Redis",
                f"{floor:,.0f}",
                "",
                "",
                f"{floor / singles:.2f}",
                "",
            ],
        ],
    )
