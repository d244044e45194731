"""The feeds of all boards, live, for staff: one pattern subscription per process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.test import Client

from config.redis.connections import close_async_redis
from leaderboard.live.hub import close_hub
from leaderboard.log.consumer import Consumer
from leaderboard.models import Board
from tests.leaderboard.live.test_lane import Stream, in_thread
from tests.leaderboard.pages.conftest import make_board, score

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
async def _no_hub_left() -> AsyncIterator[None]:
    yield
    await close_hub()
    await close_async_redis()


def sign_in_staff(*permissions: str) -> str:
    user = User.objects.create_user("root", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def play(board: Board, player_id: str, value: float) -> None:
    score(board, player_id, value)
    reader = Consumer()
    reader.join(board)
    reader.run_once()


async def test_staff_hear_of_every_board(transactional_db: None) -> None:
    boards = [await in_thread(make_board, slug) for slug in ("cup", "league", "secret")]
    cookie = await in_thread(sign_in_staff, "view_board")
    stream = Stream("/live/activity/", cookie=cookie)
    assert (await stream.start())[0] == 200
    await stream.until(b"retry: ")
    for board in boards:
        await in_thread(play, board, "ada", 5)
        await stream.until(b'event: boards\ndata: ["%s"]' % board.slug.encode())
    await stream.close()


async def test_it_is_for_staff_who_may_view_boards(transactional_db: None) -> None:
    cookie = await in_thread(sign_in_staff, "view_player")
    for headers in ({}, {"cookie": cookie}):
        stream = Stream("/live/activity/", **headers)
        await asyncio.wait_for(stream.task, 20)
        assert stream.passed_on


async def test_it_ends_when_the_permission_is_taken_away(transactional_db: None) -> None:
    cookie = await in_thread(sign_in_staff, "view_board")
    stream = Stream("/live/activity/", cookie=cookie)
    await stream.start()
    await in_thread(lambda: User.objects.get().user_permissions.clear())
    await asyncio.wait_for(stream.task, 30)
