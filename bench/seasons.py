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
    report.table(
        ["a score's wait, ms", "median", "p99", "longest"],
        [
            ["before", *(f"{quiet[name]:.2f}" for name in ("median", "p99", "longest"))],
            [
                "while the season closes",
                f"{busy['median']:.2f}",
                f"{busy['p99']:.2f}",
                report.verdict("longest wait, ms", busy["longest"], at_most=50),
            ],
        ],
    )


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


def probed(environment: dict[str, str], work: Any) -> tuple[Any, dict[str, float]]:
    """Do the work while another process submits scores and measures how long each waits."""
    prober = subprocess.Popen(
        [sys.executable, "-c", PROBE], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert prober.stdout is not None
    prober.stdout.readline()  # it is up
    result = work()
    prober.send_signal(signal.SIGTERM)
    waits: dict[str, float] = json.loads(prober.stdout.readline())
    prober.wait()
    return result, waits


def probe() -> None:
    """Submit until SIGTERM, then print how long the scores waited, in milliseconds."""
    from leaderboard.models import Board
    from leaderboard.services import submit_score

    stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    board = Board.objects.get(slug=BOARD)
    submit_score(board=board, player_id="prober", score=0)
    print("up", flush=True)
    waits = []
    while not stop:
        begin = time.perf_counter()
        submit_score(board=board, player_id="prober", score=len(waits))
        waits.append((time.perf_counter() - begin) * 1000)
        time.sleep(PAUSE)
    waits.sort()
    summary = {
        "median": statistics.median(waits),
        "p99": waits[int(len(waits) * 0.99)],
        "longest": waits[-1],
    }
    print(json.dumps(summary), flush=True)
