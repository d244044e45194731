"""Each process in turn is killed, stopped or cut off while clients go on."""

import os
import signal
import time

import pytest

from tests.faults.site import SLUG, Site, assert_all_agree
from tests.servers import redis_server, wait_for
from tests.topologies import proxy

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

DURABLE = {"appendonly": "yes", "appendfsync": "always"}


@pytest.fixture
def redis():
    with redis_server(**DURABLE) as server:
        yield server


def carry_on(site, clients, seconds=2.0):
    """Some load after the fault is over."""
    wait_for(clients.acknowledges(40), timeout=60)
    time.sleep(seconds)


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def test_a_web_process_is_killed(redis, report):
    with Site(REDIS_URL=redis.url) as site:
        watcher = site.watch()
        with site.clients() as clients:
            wait_for(clients.acknowledges(40), timeout=60)
            # Granian's children; its parent starts another.
            family = site.pids("config.web.server")
            kill(max(family))
            carry_on(site, clients)
        picture = site.settled()
        wait_for(lambda: watcher.sequence >= picture.sequence, timeout=30)
        assert_all_agree(clients.ledger, picture)
        report("web process: kill -9", clients.ledger, picture.lost(clients.ledger))


def test_a_web_process_stands_still(redis, report):
    with Site(REDIS_URL=redis.url) as site:
        with site.clients() as clients:
            wait_for(clients.acknowledges(40), timeout=60)
            stopped = max(site.pids("config.web.server"))
            os.kill(stopped, signal.SIGSTOP)
            time.sleep(3)
            os.kill(stopped, signal.SIGCONT)
            carry_on(site, clients)
        picture = site.settled()
        assert_all_agree(clients.ledger, picture)
        report("web process: SIGSTOP for 3 s", clients.ledger, picture.lost(clients.ledger))


def test_the_worker_is_killed_while_a_season_closes(redis, report):
    with Site(REDIS_URL=redis.url) as site:
        with site.clients() as clients:
            wait_for(clients.acknowledges(60), timeout=60)
            site.rostrum.start("season", "close", SLUG, "--open-next")
            (worker,) = site.pids("manage.py worker")
            # `serve` ends when its worker does; a second worker, as in production, stays.
            second = site.rostrum.start("worker")
            os.kill(worker, signal.SIGSTOP)
            time.sleep(2)
            os.kill(worker, signal.SIGCONT)
            kill(second.pid)
            carry_on(site, clients)
        picture = site.settled()
        assert [number for number, _ in picture.seasons] == [1, 2]
        assert_all_agree(clients.ledger, picture)
        report(
            "one worker: SIGSTOP, another: kill -9, while a season closes",
            clients.ledger,
            picture.lost(clients.ledger),
        )


def test_redis_is_killed_and_comes_back(redis, report):
    with Site(REDIS_URL=redis.url) as site:
        watcher = site.watch()
        with site.clients() as clients:
            wait_for(clients.acknowledges(40), timeout=60)
            redis.stop(kill=True)
            wait_for(lambda: site.rostrum.get("/")[0] == 503, timeout=20)
            redis.start()
            carry_on(site, clients)
        picture = site.settled()
        wait_for(lambda: watcher.sequence >= picture.sequence, timeout=30)
        assert watcher.opened == 1
        assert_all_agree(clients.ledger, picture)
        report(
            "Redis (appendfsync always): kill -9, back",
            clients.ledger,
            picture.lost(clients.ledger),
            "pages 503 meanwhile; the open stream went on by itself",
        )


def test_redis_stands_still(redis, report):
    with Site(REDIS_URL=redis.url) as site:
        watcher = site.watch()
        with site.clients() as clients:
            wait_for(clients.acknowledges(40), timeout=60)
            os.kill(redis.process.pid, signal.SIGSTOP)
            time.sleep(7)  # longer than any answer is awaited
            os.kill(redis.process.pid, signal.SIGCONT)
            carry_on(site, clients)
        picture = site.settled()
        wait_for(lambda: watcher.sequence >= picture.sequence, timeout=30)
        assert_all_agree(clients.ledger, picture)
        report("Redis: SIGSTOP for 7 s", clients.ledger, picture.lost(clients.ledger))


def test_redis_is_disconnected(redis, report):
    with (
        proxy(redis.port) as between,
        Site(REDIS_URL=f"redis://127.0.0.1:{between.port}/0") as site,
    ):
        watcher = site.watch()
        with site.clients() as clients:
            wait_for(clients.acknowledges(40), timeout=60)
            between.cut()
            wait_for(lambda: site.rostrum.get("/")[0] == 503, timeout=20)
            between.mend()
            wait_for(clients.acknowledges(40), timeout=60)
            between.hold()
            time.sleep(7)
            between.let_go()
            carry_on(site, clients)
        picture = site.settled()
        wait_for(lambda: watcher.sequence >= picture.sequence, timeout=30)
        assert_all_agree(clients.ledger, picture)
        report(
            "Redis: connections cut, then silent for 7 s",
            clients.ledger,
            picture.lost(clients.ledger),
        )
