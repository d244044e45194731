"""A refused request is answered late, so that ignoring refusals brings nobody anything."""

import asyncio

import pytest

from config.web import access_log
from config.web.access_log import AccessLog


@pytest.fixture
def application():
    """Answers with the status that the path names."""

    async def answer(scope, receive, send):
        status = int(scope["path"].strip("/"))
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return AccessLog(answer)


def ask(application, status):
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": f"/{status}", "headers": []}
    return asyncio.create_task(application(scope, None, send)), sent


async def turns():
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_refusal_waits_and_nothing_else_does(application, monkeypatch):
    monkeypatch.setattr(access_log, "REFUSAL_PAUSE", 600)
    refused, nothing = ask(application, 429)
    others = [ask(application, status) for status in (200, 404, 503)]
    await turns()
    assert not refused.done()
    assert nothing == []
    assert all(task.done() and sent for task, sent in others)
    refused.cancel()


async def test_a_refusal_arrives_after_its_pause(application, monkeypatch):
    monkeypatch.setattr(access_log, "REFUSAL_PAUSE", 0.01)
    refused, sent = ask(application, 429)
    await refused
    assert sent[0]["status"] == 429


async def test_a_crowd_of_refused_requests_is_not_kept(application, monkeypatch):
    monkeypatch.setattr(access_log, "REFUSAL_PAUSE", 600)
    monkeypatch.setattr(access_log, "MOST_PAUSED", 2)
    asked = [ask(application, 429) for _ in range(3)]
    await turns()
    assert [task.done() for task, _ in asked] == [False, False, True]
    asked[0][0].cancel()
    await turns()
    again, _ = ask(application, 429)
    await turns()
    assert not again.done(), "a client that left gives its place back"
    again.cancel()
    asked[1][0].cancel()
