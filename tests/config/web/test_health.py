"""`/healthz` and `/readyz` answer from the event loop, however busy everything behind it is."""

import asyncio
import json

import pytest
from asgiref.sync import async_to_sync

from config.redis.connections import close_async_redis
from config.web import health
from config.web.health import Health
from tests.asgi import ask
from tests.leaderboard.api.support import connection_kept


async def nobody(scope, receive, send):
    """Django with every thread taken."""
    await asyncio.Future()


async def test_alive_needs_no_thread_of_django():
    answer = await ask(Health(nobody), "/healthz")
    assert (answer.status, json.loads(answer.body)) == (200, {"status": "ok"})
    head = await ask(Health(nobody), "/healthz", method="HEAD")
    assert (head.status, head.body) == (200, b"")


async def test_probes_need_not_know_the_host():
    answer = await ask(Health(nobody), "/healthz", headers=[(b"host", b"10.0.0.7:8000")])
    assert answer.status == 200


@pytest.mark.django_db
def test_ready_names_each_dependency():
    async def asked():
        try:
            return await ask(Health(nobody), "/readyz")
        finally:
            await close_async_redis()

    with connection_kept():
        answer = async_to_sync(asked)()
    assert answer.status == 200
    assert {name: one["status"] for name, one in json.loads(answer.body)["checks"].items()} == {
        "redis": "ok",
        "sql": "ok",
    }


async def test_however_many_ask_each_dependency_is_asked_once(monkeypatch):
    asked = []

    async def readiness():
        asked.append(1)
        await asyncio.sleep(0)
        return health.Readiness({"redis": {"status": "failed", "reason": "TimeoutError"}})

    monkeypatch.setattr(health, "readiness", readiness)
    application = Health(nobody)
    answers = await asyncio.gather(*(ask(application, "/readyz") for _ in range(50)))
    assert {answer.status for answer in answers} == {503}
    assert answers[0].header(b"retry-after") == b"5"
    assert len(asked) == 1
    await ask(application, "/readyz")
    assert len(asked) == 2  # nothing is remembered


async def test_a_dependency_that_hangs_is_not_ready(monkeypatch):
    monkeypatch.setattr(health, "PATIENCE", 0.01)
    found = await health._timed(asyncio.Event().wait())
    assert found == {"status": "failed", "reason": "TimeoutError"}


async def test_everything_else_goes_on():
    for path, method in (("/", "GET"), ("/healthz", "POST"), ("/healthz/", "GET")):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ask(Health(nobody), path, method=method), 0.01)
