"""The steps of `docs/operating.md`, "Back up and restore", carried out."""

import shutil
import sqlite3

import pytest

from tests.faults.site import SLUG, Site
from tests.servers import RedisServer, redis_server, wait_for

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]


@pytest.fixture
def backup(tmp_path):
    """Both stores, saved under load, Redis first; with what was acknowledged before."""
    with redis_server(appendonly="yes", appendfsync="everysec") as redis:
        with Site(REDIS_URL=redis.url) as site, site.clients() as clients:
            wait_for(clients.acknowledges(100), timeout=60)
            before = dict(clients.ledger.acknowledged)
            save_redis(redis, tmp_path / "dump.rdb")
            save_sqlite(site.rostrum.var / "rostrum.sqlite3", tmp_path / "backup.sqlite3")
            wait_for(clients.acknowledges(20), timeout=60)
        return before, tmp_path / "dump.rdb", tmp_path / "backup.sqlite3"


def save_redis(redis, path):
    with redis.client() as client:
        last = client.lastsave()
        wait_for(lambda: client.time()[0] > last.timestamp() + 1)  # LASTSAVE counts in seconds
        client.bgsave()
        wait_for(lambda: client.lastsave() > last)
    shutil.copy(redis.directory / "dump.rdb", path)


def save_sqlite(source, path):
    with sqlite3.connect(source) as running, sqlite3.connect(path) as copy:
        running.backup(copy)


def test_both_stores_come_back(backup):
    before, dump, database = backup
    redis = RedisServer(appendonly="no")
    shutil.copy(dump, redis.directory / "dump.rdb")
    try:
        redis.start()
        with redis.client() as client:
            client.config_set("appendonly", "yes")
        with Site(REDIS_URL=redis.url, database=database) as site:
            picture = site.settled()
            assert_has(picture.live, before)
            site.rostrum.manage("rebuild", SLUG)
            again = site.settled()
            assert again.live == again.all == again.events
            assert_has(again.live, before)
    finally:
        redis.remove()


def test_an_empty_redis_is_filled_from_sql(backup):
    _, _, database = backup
    with redis_server() as redis, Site(REDIS_URL=redis.url, database=database) as site:
        site.rostrum.manage("rebuild", SLUG)
        picture = site.settled()
        assert picture.events
        assert picture.live == picture.all == picture.events


def assert_has(scores, before):
    assert all(scores.get(player, 0) >= points for player, points in before.items())
