"""One address with a few sockets must not take the product from the others."""

import contextlib
import http.client
import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.faults.attacks import attacks
from tests.faults.ledger import Ledger
from tests.faults.site import SLUG, Site
from tests.faults.test_limits import memory
from tests.servers import redis_server, wait_for
from tests.topologies import ROOT

pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]

SCORES = 150  # for each measurement
SLOWER = 5  # times the quiet p95, at most
ANSWER = 1.0  # seconds for /healthz and /readyz
LARGEST = 600 * 1024  # KiB of all web processes together

# A past season with a long table, for the downloads.
PAST = """
from leaderboard.models import Board
engine = Board.objects.get(slug={slug!r}).engine()
for part in range(10):
    engine.submit_many([
        {{"user_id": f"p{{number}}", "score": number, "metadata": {{"name": f"Player {{number}}"}}}}
        for number in range(part * 2000, part * 2000 + 2000)
    ])
print("DONE ")
"""


class Scorer:
    """Another client: one score after the other, and how long each took."""

    def __init__(self, site):
        self.site = site
        self.ledger = Ledger()
        self.connection = http.client.HTTPConnection("127.0.0.1", site.rostrum.port, timeout=60)

    def close(self):
        self.connection.close()

    def p95(self, number=SCORES):
        return sorted(self.one() for _ in range(number))[int(number * 0.95)]

    def one(self):
        started = time.monotonic()
        self.connection.request(
            "POST",
            f"/api/v1/boards/{SLUG}/scores",
            json.dumps({"player": "ada", "score": 1}),
            {"Authorization": f"Bearer {self.site.token}", "Content-Type": "application/json"},
        )
        answer = self.connection.getresponse()
        answer.read()
        now = time.monotonic()
        self.ledger.answers[str(answer.status)] += 1
        self.ledger.acknowledged["ada"] += answer.status == 200
        self.ledger.times.append(now)
        assert answer.status == 200
        time.sleep(0.01)
        return now - started


@dataclass
class Watch:
    """Looks at health and memory until it is stopped."""

    site: Site
    slowest: float = 0.0
    largest: int = 0
    wrong: list = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    def __enter__(self):
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *details):
        self.stopping.set()
        self.thread.join()

    def run(self):
        while not self.stopping.wait(0.1):
            for path in ("/healthz", "/readyz"):
                started = time.monotonic()
                status, _ = self.site.rostrum.get(path)
                self.slowest = max(self.slowest, time.monotonic() - started)
                if status != 200:
                    self.wrong.append((path, status))
            self.largest = max(self.largest, memory(self.site))


@contextlib.contextmanager
def attack(site, name):
    """A process of its own, which is under way when this returns."""
    command = [sys.executable, "-m", "tests.faults.attacks", name, str(site.rostrum.port), SLUG]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        wait_for(lambda: connections(site) or process.poll() is not None, timeout=60)
        yield
        assert process.poll() is None, f"{name} ended by itself"
    finally:
        process.kill()
        process.wait()


def connections(site):
    """Whether the attacker's address has one."""
    port = f":{site.rostrum.port:04X}"
    rows = Path("/proc/net/tcp").read_text().splitlines()
    return any(row.split()[1].startswith("0200007F") and port in row for row in rows)


@pytest.fixture(scope="module")
def site():
    with (
        redis_server() as redis,
        Site(REDIS_URL=redis.url, DJANGO_SETTINGS_MODULE="config.settings") as site,
    ):
        site.run(PAST.format(slug=SLUG), "DONE ")
        site.rostrum.manage("season", "close", SLUG, "--open-next")
        site.settled()
        yield site


@pytest.mark.parametrize("name", list(attacks()))
def test_an_attack_slows_nobody_else_down(site, name, report):
    with contextlib.closing(Scorer(site)) as scorer:
        quiet = scorer.p95()
        with Watch(site) as watch, attack(site, name):
            attacked = scorer.p95()
        # A machine that is busy with other things is so before, during or after.
        quiet = max(quiet, scorer.p95())
    report(
        f"attack: {name.replace('_', ' ')}",
        scorer.ledger,
        0,
        f"p95 {attacked * 1000:.0f} ms, quiet {quiet * 1000:.0f} ms; health within "
        f"{watch.slowest * 1000:.0f} ms; {watch.largest // 1024} MB",
    )
    assert watch.wrong == []
    assert watch.slowest < ANSWER
    assert watch.largest < LARGEST
    assert attacked < SLOWER * quiet
