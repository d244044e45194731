"""A stream was let in by the rules of then; it must not outlive them."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, Permission, User

from config.asgi import application
from config.redis.connections import close_async_redis
from leaderboard.access import rights
from leaderboard.api.callers import keyring
from leaderboard.api.hot import boards, live
from leaderboard.live import hub
from leaderboard.live.hub import close_hub
from leaderboard.models import ApiKey
from ratelimit import policies
from sessions_app.backend import SessionStore
from tests.asgi import ask
from tests.leaderboard.api.support import make_key
from tests.leaderboard.support import open_board

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
        path, _, query = path.partition("?")
        asking = ask(self.application, path, query=query.encode(), headers=raw)
        self.task = asyncio.create_task(asking)

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
    session = SessionStore()
    await sync_to_async(_sign_in)(session, user)
    cookie = f"sessionid={session.session_key}"
    stream = await Watching(cookie=cookie).open()
    await board.members.aremove(user)
    await stream.ended()
    assert (await Watching(cookie=cookie).ended()).status == 404


def _sign_in(session, user):
    session["_auth_user_id"] = str(user.pk)
    session["_auth_user_backend"] = "leaderboard.access.accounts.AccountBackend"
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
    monkeypatch.setattr(live, "board_cache", boards.BoardCache)
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


def _group():
    group = Group.objects.create(name="viewers")
    group.permissions.add(Permission.objects.get(codename="view_board"))
    return group


def _by_permission(user):
    user.user_permissions.add(Permission.objects.get(codename="view_board"))


def _by_group(user):
    user.groups.add(_group())


# How staff came to see private boards, and how they lost it. Some send no signal of the account.
LOSSES = {
    "permission": (_by_permission, lambda user: user.user_permissions.clear()),
    "group": (_by_group, lambda user: user.groups.clear()),
    "permission of the group": (_by_group, lambda user: Group.objects.get().permissions.clear()),
    "deleted group": (_by_group, lambda user: Group.objects.all().delete()),
    "staff": (_by_permission, lambda user: User.objects.filter(pk=user.pk).update(is_staff=False)),
    "active": (
        _by_permission,
        lambda user: User.objects.filter(pk=user.pk).update(is_active=False),
    ),
    "superuser": (
        lambda user: User.objects.filter(pk=user.pk).update(is_superuser=True),
        lambda user: User.objects.filter(pk=user.pk).update(is_superuser=False),
    ),
    "deleted": (_by_permission, lambda user: user.delete()),
}


@pytest.mark.parametrize("loss", LOSSES)
async def test_who_lost_the_right_to_see_a_board_is_out_within_five_seconds(board, loss):
    give, take = LOSSES[loss]
    board.visibility = "private"
    await board.asave()
    user = await User.objects.acreate_user("ann", is_staff=True)
    await sync_to_async(give)(user)
    session = SessionStore()
    await sync_to_async(_sign_in)(session, user)
    cookie = f"sessionid={session.session_key}"
    stream = await Watching(cookie=cookie).open()
    await sync_to_async(take)(user)
    async with asyncio.timeout(5):
        await stream.task
    assert (await Watching(cookie=cookie).ended()).status == 404


async def test_a_stream_of_notices_ends_with_its_account(board, monkeypatch):
    monkeypatch.setattr(hub, "CHECK_RIGHTS", 0.05)
    user = await User.objects.acreate_user("ann")
    session = SessionStore()
    await sync_to_async(_sign_in)(session, user)
    stream = await Watching("/live/notices/", cookie=f"sessionid={session.session_key}").open()
    await User.objects.filter(pk=user.pk).aupdate(is_active=False)
    await stream.ended()


async def test_rights_that_stay_the_same_end_no_stream(board, monkeypatch):
    monkeypatch.setattr(hub, "CHECK_RIGHTS", 0.01)
    user = await User.objects.acreate_user("ann", is_staff=True)
    await sync_to_async(_by_group)(user)
    session = SessionStore()
    await sync_to_async(_sign_in)(session, user)
    loop, looks, looked = asyncio.get_running_loop(), [], asyncio.Event()

    def rights_of(user_ids):
        looks.append(user_ids)
        if len(looks) == 3:
            loop.call_soon_threadsafe(looked.set)
        return rights.rights_of(user_ids)

    monkeypatch.setattr(hub, "rights_of", rights_of)
    stream = await Watching(cookie=f"sessionid={session.session_key}").open()
    async with asyncio.timeout(20):
        await looked.wait()
    assert not stream.task.done()
    stream.task.cancel()


async def test_one_caller_has_five_streams_with_players_of_their_own(board):
    path = "/api/v1/boards/cup/live"
    streams = [await Watching(f"{path}?player=p{number}").open() for number in range(5)]
    assert (await Watching(f"{path}?player=p5").ended()).status == 429
    shared = await Watching(path).open()  # what all see alike is open to everybody
    streams.pop().task.cancel()
    for stream in (*streams, shared):
        stream.task.cancel()
