"""Calls to the whole web application in this process and thread, so that a test's transaction holds
for both sides."""

import json as jsonlib
from contextlib import contextmanager

import httpx
import msgspec
from asgiref.sync import async_to_sync
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from config.redis.connections import close_async_redis
from config.web.access_log import AccessLog, BodyLimit
from config.web.problems import CONTENT_TYPE
from leaderboard.api.callers import keyring
from leaderboard.api.hot.app import FastLane
from leaderboard.api.live_schemas import EVENTS
from leaderboard.api.problems import Problem
from leaderboard.models import ApiKey


class SameThreadHandler(ASGIHandler):
    """Django's handler without a thread of its own."""

    async def __call__(self, scope, receive, send):
        await self.handle(scope, receive, send)


def application():
    return AccessLog(BodyLimit(FastLane(SameThreadHandler()), settings.LARGEST_BODY))


@contextmanager
def connection_kept():
    """A request's end would close the connection, and the test's transaction with it. Django's own
    test client does the same."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)


class Api:
    """`api.get("boards/cup")`; `api.as_(token)` sends a key along."""

    def __init__(self, token=None):
        self.token = token
        self.app = application()

    def as_(self, token):
        return Api(token)

    def get(self, path, **options):
        return self.call("GET", path, **options)

    def post(self, path, json=None, **options):
        return self.call("POST", path, json=json, **options)

    def call(self, method, path, *, json=None, body=None, headers=None):
        return self.together([(method, path, json, body, headers)])[0]

    def together(self, calls):
        """Several calls at the same time, on one event loop."""
        with connection_kept():
            return async_to_sync(self._together)(calls)

    async def _together(self, calls):
        import asyncio

        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            try:
                return await asyncio.gather(*[self._send(client, *call) for call in calls])
            finally:
                await close_async_redis()

    async def _send(self, client, method, path, json=None, body=None, headers=None):
        headers = dict(headers or {})
        if self.token is not None:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        if json is not None:
            body = jsonlib.dumps(json).encode()
            headers.setdefault("Content-Type", "application/json")
        answer = await client.request(method, f"/api/v1/{path}", content=body, headers=headers)
        check_problem(answer)
        return answer


def check_problem(answer):
    """Whatever a test is about: an error looks as the OpenAPI document says."""
    if answer.headers.get("Content-Type") != CONTENT_TYPE or not answer.content:
        return
    body = answer.json()
    Problem.model_validate(body)
    described = {field.alias or name for name, field in Problem.model_fields.items()}
    assert body.keys() <= described, body


def check_event(fields):
    """The same of an event of the live stream; `fields` are its lines by name."""
    sent = fields | {"data": jsonlib.loads(fields["data"])}
    described = msgspec.to_builtins(msgspec.convert(sent, EVENTS[sent["event"]]))
    assert _names(described) == _names(sent)


def _names(value):
    return {name: _names(one) for name, one in value.items()} if isinstance(value, dict) else None


def make_key(*scopes, **values):
    values = {"all_boards": True} | values
    keyring.forget()
    return ApiKey.make("Test", list(scopes or ("read", "submit")), **values)[1]
