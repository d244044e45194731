"""A primary dies under load; Sentinel names another."""

import pytest

from tests.faults.site import Site, assert_all_agree
from tests.servers import wait_for
from tests.topologies import replicated

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

RESUME_WITHIN = 15.0


@pytest.mark.parametrize("durability", ["primary", "replicated"])
def test_writes_resume_on_the_new_primary(durability, report):
    with (
        replicated() as topology,
        Site(REDIS_URL=topology.url, durability=durability) as site,
    ):
        watcher = site.watch()
        with site.clients() as clients:
            wait_for(clients.acknowledges(100), timeout=60)
            first = topology.current_primary()
            first.stop(kill=True)
            wait_for(lambda: site.rostrum.get("/")[0] == 503, timeout=10)
            wait_for(clients.acknowledges(100), timeout=60)
            wait_for(lambda: site.rostrum.get("/")[0] == 200, timeout=30)
        picture = site.settled()
        wait_for(lambda: watcher.sequence >= picture.sequence, timeout=30)
        lost = picture.lost(clients.ledger)
        assert clients.ledger.longest_gap() < RESUME_WITHIN
        assert watcher.opened == 1
        if durability == "replicated":
            assert_all_agree(clients.ledger, picture)
        report(
            f"Sentinel, durability {durability}: primary kill -9",
            clients.ledger,
            lost,
            "pages 503 meanwhile; the open stream went on by itself",
        )
