"""A stream was let in by the rules of then; it must not outlive them."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from config.asgi import application
from config.redis import close_async_redis
from leaderboard.api.callers import keyring
from leaderboard.fastlane import boards, live
from leaderboard.live.hub import close_hub
from leaderboard.models import ApiKey
from ratelimit import policies
from tests.asgi import ask
from tests.leaderboard.api.support import make_key
from tests.leaderboard.boards import open_board

pytestmark = pytest.mark.django_db(transaction=True)

PAGE, API = "/live/boards/cup/", "/api/v1/boards/cup/live"


@pytest.fixture(autouse=True)
async def _closed():
    keyring.forget()
    yield
    await close_hub()
    await close_async_redis()


@pytest.fixture
async def board():
    return await sync_to_async(open_board)()


class Watching:
    """An open stream; `ended` waits for its end."""

    def __init__(self, path=PAGE, **headers):
        self.began = asyncio.Event()
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self.task = asyncio.create_task(ask(self.application, path, headers=raw))

    async def application(self, scope, receive, send):
        async def send_and_tell(message):
            await send(message)
            self.began.set()

        await application(scope, receive, send_and_tell)

    async def open(self):
        async with asyncio.timeout(20):
            await self.began.wait()
        assert not self.task.done()
        return self

    async def ended(self):
        async with asyncio.timeout(20):
            return await self.task


@pytest.mark.parametrize("path", [PAGE, API])
async def test_making_a_board_private_ends_its_streams(board, path, monkeypatch):
    monkeypatch.setattr(boards, "REMEMBER", 0.0)
    stream = await Watching(path).open()
    board.visibility = "private"
    await board.asave()
    assert (await stream.ended()).complete
    again = await Watching(path).ended()
    assert again.status == 404


async def test_a_member_who_is_taken_off_is_out(board):
    board.visibility = "private"
    await board.asave()
    user = await User.objects.acreate_user("ann")
    await board.members.aadd(user)
    from sessions_app.backend import SessionStore

    session = SessionStore()
    await sync_to_async(_sign_in)(session, user)
    cookie = f"sessionid={session.session_key}"
    stream = await Watching(cookie=cookie).open()
    await board.members.aremove(user)
    await stream.ended()
    assert (await Watching(cookie=cookie).ended()).status == 404


def _sign_in(session, user):
    session["_auth_user_id"] = str(user.pk)
    session["_auth_user_backend"] = "leaderboard.accounts.AccountBackend"
    session["_auth_user_hash"] = user.get_session_auth_hash()
    session.save()


async def test_a_revoked_key_is_out(board, monkeypatch):
    monkeypatch.setattr(live, "ASK_AGAIN", 0.01)
    board.visibility = "private"
    await board.asave()
    token = await sync_to_async(make_key)("read")
    stream = await Watching(API, authorization=f"Bearer {token}").open()
    await ApiKey.objects.aupdate(revoked_at="2026-01-01T00:00Z")
    keyring.forget()
    await stream.ended()


async def test_a_stream_that_was_let_in_by_what_was_remembered_is_out(board, monkeypatch):
    monkeypatch.setattr(live, "ASK_AGAIN", 0.1)
    (await Watching(API).open()).task.cancel()
    board.visibility = "private"
    await board.asave()
    monkeypatch.setattr(live, "cards", boards.Cards)
    assert (await Watching(API).ended()).status in (200, 404)


@pytest.mark.parametrize("path", [PAGE, API])
async def test_unknown_hosts_get_no_stream(board, path):
    assert (await Watching(path, host="evil.example").ended()).status == 400


@pytest.mark.parametrize("path", [PAGE, API])
async def test_one_address_has_a_number_of_streams(board, settings, path):
    before = settings.RATE_LIMITS
    settings.RATE_LIMITS = before | {"live_stream": "1 at once by ip"}
    policies.configure()
    try:
        first = await Watching(path).open()
        assert (await Watching(path).ended()).status == 429
        first.task.cancel()
    finally:
        settings.RATE_LIMITS = before
        policies.configure()
