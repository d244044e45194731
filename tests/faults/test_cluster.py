"""A cluster of three primaries and their replicas: one dies, a slot moves, scores arrive."""

import threading

import pytest
from redis.cluster import key_slot

from leaderboard import keys
from tests.faults.site import SLUG, Site, assert_all_agree
from tests.servers import FAILOVER, redis_cluster, redis_server, wait_for
from tests.topologies import cluster_url, has_replaced, holder_of, move_slot

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

SLOT = key_slot(keys.base(SLUG).encode())


@pytest.fixture
def nodes():
    with redis_cluster(primaries=3, replicas=1, **FAILOVER) as servers:
        yield servers


@pytest.fixture
def cache():
    with redis_server() as server:
        yield server


@pytest.mark.parametrize("durability", ["primary", "replicated"])
def test_a_primary_is_killed(nodes, cache, durability, report):
    with Site(REDIS_URL=cluster_url(nodes), CACHE_URL=cache.url, durability=durability) as site:
        watcher = site.watch()
        with site.clients() as clients:
            wait_for(clients.acknowledges(60), timeout=60)
            dead = holder_of(nodes, SLOT)
            dead.stop(kill=True)
            wait_for(lambda: has_replaced(nodes, dead), timeout=60)
            if durability == "replicated":
                # Its only replica is the primary now, so nobody can confirm until it is back.
                dead.start()
            wait_for(clients.acknowledges(60), timeout=60)
        picture = site.settled()
        wait_for(lambda: watcher.sequence >= picture.sequence, timeout=30)
        if durability == "replicated":
            assert_all_agree(clients.ledger, picture)
        report(
            f"Cluster, durability {durability}: primary kill -9",
            clients.ledger,
            picture.lost(clients.ledger),
        )


def test_a_slot_moves_while_scores_arrive(nodes, cache, report):
    with Site(REDIS_URL=cluster_url(nodes), CACHE_URL=cache.url) as site:
        watcher = site.watch()
        with site.clients() as clients:
            wait_for(clients.acknowledges(60), timeout=60)
            source = holder_of(nodes, SLOT)
            target = next(one for one in nodes[:3] if one is not source)
            moving = threading.Thread(target=move_slot, args=(nodes, SLOT), kwargs={"to": target})
            moving.start()
            moving.join()
            assert holder_of(nodes, SLOT) is target
            wait_for(clients.acknowledges(100), timeout=60)
        picture = site.settled()
        wait_for(lambda: watcher.sequence >= picture.sequence, timeout=30)
        assert_all_agree(clients.ledger, picture)
        report("Cluster: the board's slot moves", clients.ledger, picture.lost(clients.ledger))
