"""SQL asked from the event loop, through failures."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError, connection, connections

from config import environment, sql
from config.sql import ask_sql
from tests.optional import skip_without
from tests.servers import PostgresServer


def fail():
    raise OperationalError("gone")


@pytest.mark.django_db(transaction=True)
async def test_the_answer_comes_back():
    assert await ask_sql(divmod, 7, 2) == (3, 1)


@pytest.mark.django_db(transaction=True)
async def test_after_a_failure_nobody_waits_for_another(monkeypatch):
    monkeypatch.setattr(sql, "PAUSE", 60.0)
    asked = []
    with pytest.raises(OperationalError):
        await ask_sql(fail)
    for _ in range(3):
        with pytest.raises(OperationalError):
            await ask_sql(asked.append, 1)
    assert asked == []
    sql._away_until = 0.0
    await ask_sql(asked.append, 1)
    assert asked == [1]


@pytest.mark.django_db(transaction=True)
async def test_an_error_that_is_no_outage_stops_nobody():
    with pytest.raises(ZeroDivisionError):
        await ask_sql(divmod, 1, 0)
    assert await ask_sql(divmod, 7, 2) == (3, 1)


@skip_without(PostgresServer.binaries(), "postgresql")
def test_a_connection_that_died_is_replaced(tmp_path, monkeypatch, django_db_blocker):
    """As in the web process: outside of any request, on one thread, with the pool."""
    server = PostgresServer()
    try:
        server.start()
        monkeypatch.setenv("OTHER_DATABASE_URL", server.url)
        settings = connection.settings_dict | environment.database("OTHER_DATABASE_URL", tmp_path)
        with django_db_blocker.unblock():
            asyncio.run(_through_a_restart(server, settings))
    finally:
        server.remove()


async def _through_a_restart(server, settings):
    def ask():
        with connections["other"].cursor() as cursor:
            cursor.execute("SELECT 1")
            return cursor.fetchone()[0]

    connections.settings["other"] = settings
    try:
        assert await ask_sql(ask) == 1
        server.stop(kill=True)
        with pytest.raises(OperationalError):
            await ask_sql(ask)
        sql._away_until = 0.0
        server.start()
        assert await ask_sql(ask) == 1
    finally:
        await sync_to_async(lambda: connections["other"].close_pool())()
        await sync_to_async(lambda: delattr(connections._connections, "other"))()
        del connections.settings["other"]


def test_what_the_address_says_of_the_connection_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("OTHER_URL", "postgres://u:p@host:5432/name?sslmode=require")
    options = environment.database("OTHER_URL", tmp_path)["OPTIONS"]
    assert options["sslmode"] == "require"
    assert options["pool"]["max_size"] == 8
