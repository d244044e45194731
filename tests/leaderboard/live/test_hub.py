"""The process's one subscription, against a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import redis

from config.redis.connections import close_async_redis, get_async_redis
from leaderboard import AsyncRedisLeaderboard, RedisLeaderboard, keys, models
from leaderboard.live import hub as hub_module
from leaderboard.live.feed import MOST_OWN, Visitor, Watch
from leaderboard.live.hub import Hub, close_hub, get_hub
from leaderboard.live.topic import Picture, Row
from leaderboard.notices import delivery
from sessions_app import keys as session_keys
from tests.servers import ON_CLUSTER, RedisServer, wait_for

SLUG = "cup"
RULES: dict[str, Any] = {"max_entries": None, "ties": "earliest", "notices": True}


class Board:
    """The top three, as JSON."""

    def __init__(self) -> None:
        self.engine = AsyncRedisLeaderboard(get_async_redis(), keys.base(SLUG), **RULES)
        self.reads = 0

    async def read(self) -> Picture:
        self.reads += 1
        entries = await self.engine.get_top(3)
        return Picture(1, 0, {one["user_id"]: Row(one["rank"], one["score"]) for one in entries})

    def encode(self, before: Picture | None, after: Picture) -> bytes:
        return json.dumps({name: row.content for name, row in after.rows.items()}).encode()

    async def read_mine(self, player_ids: list[str]) -> dict[str, Any]:
        found = await self.engine.get_entries(player_ids)
        return {one["user_id"]: one["board_rank"] for one in found["entries"]}

    def encode_mine(self, mine: Any) -> bytes:
        return json.dumps(mine).encode()


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    yield get_hub()
    await close_hub()
    await close_async_redis()


@pytest.fixture
def engine(redis_client: redis.Redis) -> RedisLeaderboard:
    return RedisLeaderboard(redis_client, keys.base(SLUG), **RULES)


class Stream:
    """A viewer that reads events with their id and data."""

    def __init__(self, hub: Hub, **watch: Any) -> None:
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        names = {"player_id", "presence", "session"} & watch.keys()
        visitor = Visitor(**{name: watch.pop(name) for name in names})
        view = {"slug": SLUG, "view": "top", "source": Board} | watch
        wanted = Watch(**view, visitor=visitor)
        self.chunks = hub.stream(wanted, self.gone)
        self.events: list[tuple[str, str, Any]] = []

    async def next(self, name: str) -> tuple[str, Any]:
        async with asyncio.timeout(20):
            while True:
                while self.events:
                    kind, sequence, data = self.events.pop(0)
                    if kind == name:
                        return sequence, data
                chunk = await anext(self.chunks)
                for text in chunk.decode().strip().split("\n\n"):
                    fields = dict(line.split(": ", 1) for line in text.splitlines())
                    if "event" in fields:
                        data = json.loads(fields["data"])
                        self.events.append((fields["event"], fields.get("id", ""), data))

    async def close(self) -> None:
        await self.chunks.aclose()


async def test_a_score_reaches_a_viewer_with_its_sequence(
    hub: Hub, engine: RedisLeaderboard
) -> None:
    engine.upsert_user("ada", 5)
    stream = Stream(hub)
    assert await stream.next("snapshot") == ("1", {"ada": 5.0})
    engine.upsert_user("bob", 7)
    assert await stream.next("rows") == ("2", {"bob": 7.0, "ada": 5.0})
    await stream.close()


async def test_many_viewers_share_one_subscription_and_one_read(
    hub: Hub, engine: RedisLeaderboard, redis_client: redis.Redis
) -> None:
    board = Board()
    streams = [Stream(hub, source=lambda: board) for _ in range(40)]
    for stream in streams:
        await stream.next("snapshot")
    subscribers = [
        client["laddr"]
        for client in redis_client.client_list()
        if int(client["sub"]) + int(client["ssub"]) > 0
    ]
    # On a cluster, one for each node that holds a watched board or a channel for all.
    assert 1 <= len(subscribers) == len(set(subscribers)) <= (3 if ON_CLUSTER else 1)
    reads = board.reads
    for number in range(100):
        engine.upsert_user(f"p{number}", number)
    seen = set()
    for stream in streams:
        while True:
            sequence, data = await stream.next("rows")
            if sequence == "100":
                break
        seen.add(json.dumps(data))
    assert seen == {'{"p99": 99.0, "p98": 98.0, "p97": 97.0}'}
    assert board.reads - reads < 20  # a hundred scores, gathered
    for stream in streams:
        await stream.close()


async def test_a_reconnect_gets_what_it_missed(hub: Hub, engine: RedisLeaderboard) -> None:
    stream = Stream(hub)
    await stream.next("snapshot")
    await stream.close()
    engine.upsert_user("ada", 1)
    again = Stream(hub, last_sequence=0)
    assert (await again.next("rows"))[0] == "1"
    await again.close()


@pytest.mark.parametrize("action", ["rename", "hide", "remove"])
async def test_no_reconnect_replays_a_player_who_is_not_shown_any_more(
    hub: Hub, engine: RedisLeaderboard, action: str
) -> None:
    stream = Stream(hub)
    await stream.next("snapshot")
    engine.upsert_user("ada", 1, {"name": "Ada"})
    seen, _ = await stream.next("rows")
    if action == "rename":
        engine.replace_details("ada", {"name": "Anonymous"})
    elif action == "hide":
        engine.hide("ada")
    else:
        engine.delete_user("ada")
    await stream.next("rows")
    again = Stream(hub, last_sequence=0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await again.next("rows")
    late = Stream(hub, last_sequence=int(seen))
    assert await late.next("rows") == await Stream(hub, last_sequence=int(seen)).next("rows")
    for one in (stream, again, late):
        await one.close()


async def test_it_tells_players_where_they_stand(hub: Hub, engine: RedisLeaderboard) -> None:
    engine.upsert_user("ada", 1)
    stream = Stream(hub, player_id="ada")
    assert await stream.next("me") == ("", 1)
    engine.upsert_user("bob", 2)
    assert await stream.next("me") == ("", 2)
    await stream.close()


async def test_it_tells_how_many_watch(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "BEAT", 0.05)
    first = Stream(hub, presence="v:one")
    await first.next("snapshot")
    second = Stream(hub, presence="v:two")
    await second.next("snapshot")
    while (await first.next("presence"))[1] != {"watching": 2}:
        pass
    await first.close()
    await second.close()


async def test_streams_end_when_the_process_stops(hub: Hub) -> None:
    stream = Stream(hub)
    await stream.next("snapshot")
    waiting = asyncio.create_task(stream.next("rows"))
    await asyncio.sleep(0)
    await hub.stop()
    with pytest.raises(StopAsyncIteration):
        await waiting


async def test_a_viewer_who_left_is_forgotten(hub: Hub) -> None:
    stream = Stream(hub)
    await stream.next("snapshot")
    waiting = asyncio.create_task(stream.next("rows"))
    await asyncio.sleep(0)
    stream.gone.set_result(None)
    with pytest.raises(StopAsyncIteration):
        await waiting
    assert not hub.feeds[SLUG].topics["top"].viewers


async def test_it_heals_after_redis_was_away(
    hub: Hub, engine: RedisLeaderboard, redis_server: RedisServer
) -> None:
    engine.upsert_user("ada", 5)
    stream = Stream(hub)
    await stream.next("snapshot")
    redis_server.stop(kill=True)
    try:
        assert (await stream.next("redis"))[1] == {"away": True}
    finally:
        redis_server.start()
    assert (await stream.next("redis"))[1] == {"away": False}
    # The server came back empty, as after a failover that lost writes: what is there is shown.
    wait_for(redis_server.answers)
    engine.upsert_user("bob", 7)
    while (await stream.next("rows"))[1] != {"bob": 7.0}:
        pass
    await stream.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.django_db(transaction=True)
async def test_a_notice_reaches_the_open_pages_of_its_player_alone(
    hub: Hub, engine: RedisLeaderboard
) -> None:
    engine.upsert_user("ada", 5)
    mine, other = Stream(hub, player_id="ada"), Stream(hub, player_id="bob")
    await mine.next("snapshot")
    await other.next("snapshot")
    board = await models.Board.objects.acreate(slug=SLUG, name="Cup")
    delivery.overtaken(board, "ada", by="bob", rank=2)
    assert (await mine.next("notice"))[1] == {"unread": 1}
    engine.upsert_user("bob", 9)
    chunk = b""
    while b"event: rows" not in chunk:
        chunk = await anext(other.chunks)
        assert b"event: notice" not in chunk
    await mine.close()
    await other.close()


@pytest.mark.parametrize(
    "channel",
    [keys.notices_live(), session_keys.presence_leaving(), session_keys.sessions_ended()],
)
async def test_a_message_that_cannot_be_read_is_dropped_with_a_log_line(
    hub: Hub, engine: RedisLeaderboard, channel: str, caplog: pytest.LogCaptureFixture
) -> None:
    stream = Stream(hub)
    await stream.next("snapshot")
    # One connection hears both in this order, so the score arrives after the bad message.
    for message in (b"no json", b"\xff", b"[]", b'{"player":1}'):
        await get_async_redis().publish(channel, message)
    engine.upsert_user("ada", 5)
    assert (await stream.next("rows"))[1] == {"ada": 5.0}
    if channel != session_keys.sessions_ended():  # any text can name a session
        assert "Live message dropped" in caplog.text
    await stream.close()


class Broken(Board):
    async def read(self) -> Picture:
        raise ValueError("cannot be read")


async def test_a_stream_that_cannot_open_leaves_no_topic(hub: Hub) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        await Stream(hub, source=Broken).next("snapshot")
    assert not hub.feeds[SLUG].topics


async def test_own_topics_that_nobody_watches_give_way_to_newer_ones(hub: Hub) -> None:
    for number in range(2 * MOST_OWN):
        stream = Stream(hub, view=number, owner="key:1")
        await stream.next("snapshot")
        await stream.close()
    other = Stream(hub, view="theirs", owner="key:2")
    await other.next("snapshot")
    await other.close()
    assert list(hub.feeds[SLUG].topics) == [*range(MOST_OWN, 2 * MOST_OWN), "theirs"]
