"""A million players: seeding a board, and closing its season while scores go on.

Each part runs as an operator would run it, as a command in a process of its own, on SQLite and a
server of its own. BENCH_PLAYERS=100000 gives a quick look.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.harness import Report
from tests.servers import redis_server

ROOT = Path(__file__).resolve().parent.parent
BOARD = "neon-drift"
PAUSE = 0.003  # seconds between two scores of the prober
PROBE = "import django; django.setup(); from bench.seasons import probe; probe()"


def run(report: Report) -> None:
    players = int(os.environ.get("BENCH_PLAYERS", "1000000"))
    with tempfile.TemporaryDirectory() as folder, redis_server() as server:
        environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
            "REDIS_URL": server.url,
            "LOG_LEVEL": "ERROR",
        }
        manage(environment, "migrate", "--verbosity", "0")
        seeding = manage(environment, "seed", "--boards", "1", "--players", str(players))
        quiet = probed(environment, lambda: time.sleep(5))[1]
        closing, busy = probed(environment, lambda: manage(environment, "season", "close", BOARD))
    report.table(
        ["step", "players", "seconds"],
        [
            ["seed", f"{players:,}", report.verdict("seed, s", seeding, at_most=60)],
            ["close and archive", f"{players:,}", report.verdict("close, s", closing, at_most=60)],
        ],
    )
    longest = report.verdict("longest wait, ms", busy["score"]["longest"], at_most=50)
    report.table(
        ["wait, ms", "median", "p99", "longest"],
        [
            ["a score, before", *shown(quiet["score"])],
            ["a bare PING, before", *shown(quiet["ping"])],
            ["a score, while the season closes", *shown(busy["score"])[:2], longest],
            ["a bare PING, while the season closes", *shown(busy["ping"])],
        ],
    )


def shown(waits: dict[str, float]) -> list[str]:
    return [f"{waits[name]:.2f}" for name in ("median", "p99", "longest")]


def manage(environment: dict[str, str], *arguments: str) -> float:
    """Seconds that a command takes, its start included."""
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - begin


def probed(environment: dict[str, str], work: Any) -> tuple[Any, dict[str, dict[str, float]]]:
    """Do the work while another process submits scores and measures how long each waits."""
    prober = subprocess.Popen(
        [sys.executable, "-c", PROBE], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert prober.stdout is not None
    prober.stdout.readline()  # it is up
    result = work()
    prober.send_signal(signal.SIGTERM)
    waits: dict[str, dict[str, float]] = json.loads(prober.stdout.readline())
    prober.wait()
    return result, waits


def probe() -> None:
    """Submit until SIGTERM, then print how long the scores waited, in milliseconds.

    After each score a PING, the cheapest thing to ask: what it waits too, the score waited for the
    machine and not for the season's end.
    """
    from config.redis.connections import get_redis
    from leaderboard.boards.scores import submit_score
    from leaderboard.models import Board

    stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    board = Board.objects.get(slug=BOARD)
    submit_score(board=board, player_id="prober", score=0)
    print("up", flush=True)
    redis = get_redis()
    scores: list[float] = []
    pings: list[float] = []
    while not stop:
        begin = time.perf_counter()
        submit_score(board=board, player_id="prober", score=len(scores))
        scored = time.perf_counter()
        redis.ping()
        pings.append((time.perf_counter() - scored) * 1000)
        scores.append((scored - begin) * 1000)
        time.sleep(PAUSE)
    print(json.dumps({"score": summary(scores), "ping": summary(pings)}), flush=True)


def summary(waits: list[float]) -> dict[str, float]:
    waits.sort()
    return {
        "median": statistics.median(waits),
        "p99": waits[int(len(waits) * 0.99)],
        "longest": waits[-1],
    }
