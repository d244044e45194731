"""The steps of `docs/operating.md`, "Back up and restore", carried out as they stand there."""

import shutil
import sqlite3
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.site import SLUG, Site
from tests.optional import skip_without
from tests.servers import PostgresServer, RedisServer, redis_server, wait_for

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]


@dataclass
class Backup:
    """Both stores, saved under load, Redis first; with what was acknowledged before."""

    acknowledged: dict[str, int]
    redis: Path
    sql: Path


@dataclass
class Sqlite:
    """A file under the folder of the copy that runs."""

    def environment(self):
        return {}

    def save(self, site, path):
        running = sqlite3.connect(site.rostrum.var / "rostrum.sqlite3")
        copy = sqlite3.connect(path)
        running.backup(copy)  # what the shell's `.backup` does
        running.close()
        copy.close()

    def restore(self, path, site):
        shutil.copy(path, site.rostrum.var / "rostrum.sqlite3")


@dataclass
class Postgres:
    """One server that is saved; the backup goes into another one."""

    server: PostgresServer

    def environment(self):
        return {"DATABASE_URL": self.server.url}

    def save(self, site, path):
        self._run("pg_dump", "--format=custom", f"--file={path}", self.server.url)

    def restore(self, path, site):
        self._run("pg_restore", f"--dbname={self.server.url}", str(path))

    def _run(self, program, *arguments):
        subprocess.run([PostgresServer.binaries() / program, *arguments], check=True)


@contextmanager
def database(kind):
    if kind == "sqlite":
        yield Sqlite()
        return
    server = PostgresServer()
    try:
        yield Postgres(server.start())
    finally:
        server.remove()


needs_postgresql = skip_without(PostgresServer.binaries(), "postgresql")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=needs_postgresql)])
def kind(request):
    return request.param


@pytest.fixture
def backup(tmp_path, kind):
    with redis_server(appendonly="yes", appendfsync="everysec") as redis, database(kind) as sql:
        with Site(REDIS_URL=redis.url, **sql.environment()) as site, site.clients() as clients:
            wait_for(clients.acknowledges(100), timeout=60)
            before = dict(clients.ledger.acknowledged)
            wait_for(lambda: site.look().rows > 0, timeout=60)  # the worker may have just started
            save_redis(redis, tmp_path / "dump.rdb")
            sql.save(site, tmp_path / "sql")
            wait_for(clients.acknowledges(20), timeout=60)
        return Backup(before, tmp_path / "dump.rdb", tmp_path / "sql")


def save_redis(redis, path):
    with redis.client() as client:
        last = client.lastsave()
        wait_for(lambda: client.time()[0] > last.timestamp() + 1)  # LASTSAVE counts in seconds
        client.bgsave()
        wait_for(lambda: client.lastsave() > last)
    shutil.copy(redis.directory / "dump.rdb", path)


@contextmanager
def redis_from(dump):
    """Started once from the snapshot, without the append-only file, which is then switched on."""
    redis = RedisServer(appendonly="no")
    try:
        shutil.copy(dump, redis.directory / "dump.rdb")
        redis.start()
        with redis.client() as client:
            client.config_set("appendonly", "yes")
            wait_for(lambda: not is_writing_append_only_file(client))
        redis.stop()
        # As it is configured for good. It reads the append-only file now.
        redis.options["appendonly"] = "yes"
        (redis.directory / "dump.rdb").unlink()
        yield redis.start()
    finally:
        redis.remove()


def is_writing_append_only_file(client):
    state = client.info("persistence")
    return state["aof_rewrite_in_progress"] or state["aof_rewrite_scheduled"]


def check(site):
    """Step 5: whether board and log agree, as the command says."""
    done = site.rostrum.manage("rebuild", SLUG, "--check", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_both_stores_come_back(backup, kind):
    with (
        redis_from(backup.redis) as redis,
        database(kind) as sql,
        Site(
            REDIS_URL=redis.url,
            **sql.environment(),
            restore=lambda site: sql.restore(backup.sql, site),
        ) as site,
    ):
        assert_has(site.settled().live, backup.acknowledged)
        # SQL was saved after Redis, so its log is ahead of the board.
        site.rostrum.manage("rebuild", SLUG)
        check(site)
        again = site.settled()
        assert again.live == again.all == again.events
        assert_has(again.live, backup.acknowledged)


def test_an_empty_redis_is_filled_from_sql(backup, kind):
    def restore(site):
        sql.restore(backup.sql, site)
        worker = site.rostrum.start("worker")
        site.rostrum.manage("rebuild", SLUG)
        worker.terminate()
        worker.wait()

    with (
        redis_server() as redis,
        database(kind) as sql,
        Site(REDIS_URL=redis.url, **sql.environment(), restore=restore) as site,
    ):
        check(site)
        picture = site.settled()
        assert picture.events
        assert picture.live == picture.all == picture.events


def assert_has(scores, before):
    assert all(scores.get(player, 0) >= points for player, points in before.items())
