"""`kill -9` of Redis under load, and what its append-only file brings back."""

import time

import pytest

from tests.faults.site import SLUG, Site, assert_all_agree
from tests.servers import redis_server, wait_for

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]


def test_nothing_acknowledged_is_lost_with_appendfsync_always(report):
    with (
        redis_server(appendonly="yes", appendfsync="always") as redis,
        Site(REDIS_URL=redis.url) as site,
    ):
        with site.clients() as clients:
            for _ in range(3):
                wait_for(clients.acknowledges(100), timeout=60)
                redis.stop(kill=True)
                redis.start()
        picture = site.settled()
        assert_all_agree(clients.ledger, picture)
        report("Redis, appendfsync always: kill -9 three times", clients.ledger, 0)


def test_everysec_loses_at_most_a_second_and_rebuild_brings_back_what_sql_has(report):
    """A machine that dies takes with it what was not synced. A process that is killed does not,
    so the file is cut back to what had reached the disk a second before."""
    with (
        redis_server(appendonly="yes", appendfsync="everysec") as redis,
        Site(REDIS_URL=redis.url) as site,
    ):
        with site.clients() as clients:
            wait_for(clients.acknowledges(200), timeout=60)
            file = next((redis.directory / "appendonlydir").glob("*.incr.aof"))
            synced = file.stat().st_size
            told_before = clients.ledger.total
            time.sleep(1.0)
            redis.stop(kill=True)
            told_after = clients.ledger.total
            with file.open("r+b") as log:
                log.truncate(synced)
            redis.start()
            wait_for(clients.acknowledges(100), timeout=60)
        picture = site.settled()
        lost = picture.lost(clients.ledger)
        assert lost <= told_after - told_before + len(clients.ledger.acknowledged)
        site.rostrum.manage("rebuild", SLUG)
        again = site.settled()
        still = again.lost(clients.ledger)
        assert still <= lost
        assert again.live == again.all == again.events
        report(
            "Redis, appendfsync everysec: the machine dies, one second is gone",
            clients.ledger,
            lost,
            f"after `rebuild` from SQL: {still} lost",
        )
