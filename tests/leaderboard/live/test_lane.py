"""The stream's address: who may watch, what is sent, how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import pytest
import redis
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections
from django.test import AsyncClient, Client

from config.redis.connections import close_async_redis
from config.sql import ask_sql
from leaderboard.live import lane
from leaderboard.live.hub import close_hub, get_hub
from leaderboard.live.lane import LiveLane
from leaderboard.models import Board
from leaderboard.notices import delivery
from sessions_app import devices
from sessions_app import keys as session_keys
from tests.leaderboard.pages.conftest import make_board, make_player, score
from tests.servers import RedisServer, wait_for

pytestmark = pytest.mark.django_db(transaction=True)

T = TypeVar("T")


async def in_thread(work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """In a thread that ends with the test, and gives its connection to SQL back before."""

    def run() -> T:
        try:
            return work(*args, **kwargs)
        finally:
            connections.close_all()

    return await asyncio.to_thread(run)


class Stream:
    """One GET of the lane, as a server would make it."""

    def __init__(self, path: str = "/live/boards/cup/", **headers: str) -> None:
        path, _, query = path.partition("?")
        named = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
        self.scope = {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "query_string": query.encode(),
            "headers": [(b"host", b"testserver"), *named],
            "client": ("203.0.113.9", 50000),
        }
        self.left = asyncio.Event()
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.passed_on = False
        lane = LiveLane(self._django)
        self.task = asyncio.create_task(lane(self.scope, self._receive, self._send))

    async def _django(self, scope: Any, receive: Any, send: Any) -> None:
        self.passed_on = True

    async def _receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.sent.put_nowait(message)

    async def start(self) -> tuple[int, dict[str, str]]:
        message = await asyncio.wait_for(self.sent.get(), 20)
        headers = {name.decode(): value.decode() for name, value in message["headers"]}
        return message["status"], headers

    async def until(self, word: bytes) -> bytes:
        body = b""
        while word not in body:
            body += (await asyncio.wait_for(self.sent.get(), 20))["body"]
        return body

    async def close(self) -> None:
        self.left.set()
        await asyncio.wait_for(self.task, 20)


@pytest.fixture(autouse=True)
async def _no_hub_left() -> AsyncIterator[None]:
    yield
    await close_hub()
    await close_async_redis()


@pytest.fixture
def cup(transactional_db: None) -> Board:
    board = make_board(windows=["day"])
    score(board, "ada", 7, name="Ada <b>")
    return board


async def test_it_sends_rows_as_the_page_draws_them(cup: Board) -> None:
    stream = Stream()
    status, headers = await stream.start()
    assert status == 200
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in headers
    body = await stream.until(b"event: snapshot")
    data = json.loads(body.split(b"data: ")[1].split(b"\n")[0])
    assert data["order"] == [["ada", 1]]
    assert "Ada &lt;b&gt;" in data["rows"]["ada"]
    assert data["rows"]["ada"].startswith('<tr data-id="ada"')
    await stream.close()


async def test_last_event_id_and_since_continue_where_the_reader_was(cup: Board) -> None:
    first = Stream()
    await first.start()
    body = await first.until(b"snapshot")
    sequence = body.split(b"id: ")[1].split(b"\n")[0].decode()
    await first.close()
    for stream in (
        Stream(last_event_id=sequence),
        Stream(f"/live/boards/cup/?since={sequence}"),
    ):
        await stream.start()
        body = await stream.until(b"retry: ")
        assert b"snapshot" not in body
        await stream.close()
    stream = Stream(last_event_id="not a number")
    await stream.start()
    await stream.until(b"snapshot")
    await stream.close()


async def test_a_window_has_its_own_stream(cup: Board) -> None:
    stream = Stream("/live/boards/cup/?window=day")
    await stream.start()
    assert b"ada" in await stream.until(b"snapshot")
    await stream.close()


@pytest.mark.parametrize(
    "path",
    [
        "/live/boards/none/",
        "/live/boards/cup/?window=month",
        "/live/boards/secret/",
        "/boards/cup/",
    ],
)
async def test_what_is_not_for_them_is_passed_on(cup: Board, path: str) -> None:
    await in_thread(make_board, "secret", visibility="private")
    stream = Stream(path)
    await asyncio.wait_for(stream.task, 20)
    assert stream.passed_on


def test_django_says_no_to_what_the_lane_refused(cup: Board) -> None:
    client = Client()
    assert client.get("/live/boards/cup/").status_code == 404
    assert client.post("/live/boards/cup/").status_code == 405


async def test_a_member_watches_a_private_board(transactional_db: None) -> None:
    def prepare() -> str:
        board, member = make_board("secret", visibility="private"), make_player("m")
        client = Client()
        board.members.add(member)
        client.force_login(member)
        return str(client.cookies[settings.SESSION_COOKIE_NAME].value)

    key = await in_thread(prepare)
    stream = Stream("/live/boards/secret/", cookie=f"{settings.SESSION_COOKIE_NAME}={key}")
    assert (await stream.start())[0] == 200
    await stream.close()


async def test_redis_away_is_503(cup: Board, redis_server: RedisServer) -> None:
    redis_server.stop(kill=True)
    try:
        status, headers = await Stream().start()
    finally:
        redis_server.start()
    assert status == 503
    assert headers["retry-after"] == "5"


def sign_in(name: str) -> str:
    client = Client()
    client.force_login(make_player(name))
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


async def test_a_page_without_a_board_hears_of_its_own_notices_alone(cup: Board) -> None:
    ada, bob = [
        Stream("/live/notices/", cookie=await in_thread(sign_in, name)) for name in ("ada", "bob")
    ]
    for stream in (ada, bob):
        assert (await stream.start())[0] == 200
        assert b'{"unread":0}' in await stream.until(b"event: notice")
    await in_thread(delivery.overtaken, cup, "ada", by="Bob", rank=2)
    assert b'{"unread":1}' in await ada.until(b"event: notice")
    await in_thread(delivery.overtaken, cup, "bob", by="Cid", rank=3)
    # The first that Bob hears of is his own.
    assert b'{"unread":1}' in (await asyncio.wait_for(bob.sent.get(), 20))["body"]
    assert bob.sent.empty()
    await ada.close()
    await bob.close()
    assert not get_hub()._site_viewers


async def test_its_reader_is_on_the_site_and_on_no_board(
    cup: Board, redis_client: redis.Redis
) -> None:
    stream = Stream("/live/notices/", cookie=await in_thread(sign_in, "ada"))
    await stream.start()
    await asyncio.to_thread(wait_for, lambda: redis_client.zcard(session_keys.site_accounts()))
    assert not redis_client.exists(
        session_keys.board_accounts("cup"), session_keys.board_accounts("")
    )
    await stream.close()


async def test_it_ends_when_its_device_is_signed_out(cup: Board) -> None:
    cookie = await in_thread(sign_in, "ada")
    stream = Stream("/live/notices/", cookie=cookie)
    await stream.start()
    await stream.until(b"event: notice")
    user = await User.objects.aget(player__id="ada")
    await sync_to_async(devices.sign_out_all)(user.pk)
    await asyncio.wait_for(stream.task, 2)
    again = Stream("/live/notices/", cookie=cookie)
    await asyncio.wait_for(again.task, 20)
    assert again.passed_on


async def test_strangers_have_no_notices(cup: Board) -> None:
    for headers in ({}, {"cookie": f"{settings.SESSION_COOKIE_NAME}=made-up"}):
        stream = Stream("/live/notices/", **headers)
        await asyncio.wait_for(stream.task, 20)
        assert stream.passed_on
    assert (await AsyncClient().get("/live/notices/")).status_code == 403


async def test_the_list_of_boards_hears_which_of_them_changed(cup: Board) -> None:
    other = await in_thread(make_board, "race")
    await in_thread(make_board, "secret", visibility="private")
    stream = Stream("/live/home/")
    assert (await stream.start())[0] == 200
    await stream.until(b"retry: ")
    assert set(get_hub().feeds) == {"cup", "race"}
    await in_thread(score, other, "bob", 3)
    assert b'["race"]' in await stream.until(b"event: boards")
    await stream.close()
    assert not any(feed.is_watched for feed in get_hub().feeds.values())


async def test_the_list_of_boards_ends_when_one_of_them_may_no_longer_be_seen(cup: Board) -> None:
    stream = Stream("/live/home/")
    await stream.start()
    await stream.until(b"retry: ")
    cup.visibility = "private"
    await cup.asave()
    await asyncio.wait_for(stream.task, 20)


async def test_the_list_of_boards_brings_notices_too(cup: Board) -> None:
    stream = Stream("/live/home/", cookie=await in_thread(sign_in, "ada"))
    await stream.start()
    assert b'{"unread":0}' in await stream.until(b"event: notice")
    await stream.close()


async def test_openings_keep_no_other_query_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def admit(*request: Any) -> None:
        begun.set()
        go_on.wait(60)
        order.append("stream")

    @contextlib.asynccontextmanager
    async def hold(request: Any, policy: str) -> AsyncIterator[bool]:
        yield True

    async def application(scope: Any, receive: Any, send: Any) -> None:
        pass

    monkeypatch.setattr(lane, "admit", admit)
    monkeypatch.setattr(lane.limited_requests, "hold", hold)
    scope = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "path": "/live/boards/cup/",
        "query_string": b"",
        "headers": [(b"host", b"testserver")],
    }
    live = LiveLane(application)
    opening = [asyncio.create_task(live(dict(scope), None, None)) for _ in range(50)]
    await asyncio.to_thread(begun.wait, 60)
    asking = asyncio.create_task(ask_sql(order.append, "key"))
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(asking, *opening)
    assert len(order) == 51
    assert order.index("key") <= lane.ADMITTED_AT_ONCE
