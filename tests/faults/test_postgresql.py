"""PostgreSQL is killed, stopped or cut off while scores arrive."""

import os
import signal
import time

import pytest

from tests.faults.site import SLUG, Site, assert_all_agree
from tests.optional import skip_without
from tests.servers import PostgresServer, redis_server, wait_for
from tests.topologies import proxy

pytestmark = [
    pytest.mark.faults,
    pytest.mark.timeout(300),
    skip_without(PostgresServer.binaries(), "postgresql"),
]


@pytest.fixture
def postgres():
    server = PostgresServer()
    try:
        yield server.start()
    finally:
        server.remove()


def test_postgresql_is_killed_stopped_and_cut_off(postgres, report):
    with (
        redis_server() as redis,
        proxy(postgres.port) as between,
        Site(
            REDIS_URL=redis.url,
            DATABASE_URL=postgres.url.replace(str(postgres.port), str(between.port)),
        ) as site,
    ):
        watcher = site.watch()
        with site.clients() as clients:
            wait_for(clients.acknowledges(40), timeout=60)
            postgres.stop(kill=True)
            wait_for(lambda: site.rostrum.get(f"/boards/{SLUG}/")[0] == 503, timeout=40)
            postgres.start()
            wait_for(clients.acknowledges(40), timeout=60)
            os.kill(postgres.process.pid, signal.SIGSTOP)
            time.sleep(4)
            os.kill(postgres.process.pid, signal.SIGCONT)
            wait_for(clients.acknowledges(40), timeout=60)
            between.cut()
            time.sleep(4)
            between.mend()
            wait_for(clients.acknowledges(40), timeout=60)
            wait_for(lambda: site.rostrum.get(f"/boards/{SLUG}/")[0] == 200, timeout=40)
        picture = site.settled()
        wait_for(lambda: watcher.sequence >= picture.sequence, timeout=30)
        assert watcher.opened == 1
        assert_all_agree(clients.ledger, picture)
        report(
            "PostgreSQL: killed, SIGSTOP for 4 s, cut off for 4 s",
            clients.ledger,
            picture.lost(clients.ledger),
            "pages 503 meanwhile; the open stream went on by itself",
        )
