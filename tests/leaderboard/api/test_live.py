"""The live stream for programs."""

import asyncio
import json

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from config.redis import close_async_redis
from leaderboard import services
from leaderboard.live.hub import close_hub
from tests.leaderboard.api.support import Api, application, make_key
from tests.leaderboard.boards import ACTOR, submit


class Stream:
    """A client of the stream, as the server sees it: reads events, then leaves."""

    def __init__(self, path, token=None, headers=()):
        self.sent = asyncio.Queue()
        self.left = asyncio.Event()
        self.buffer = b""
        headers = [(b"host", b"localhost"), *headers]
        if token:
            headers.append((b"authorization", f"Bearer {token}".encode()))
        path, _, query = path.partition("?")
        self.scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": headers,
            "scheme": "http",
            "client": ("127.0.0.1", 1),
        }

    async def __aenter__(self):
        self.task = asyncio.create_task(application()(self.scope, self.receive, self.sent.put))
        self.start = await self.sent.get()
        return self

    async def __aexit__(self, *error):
        self.left.set()
        await self.task

    async def receive(self):
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def event(self):
        """The next event that shows the board; heartbeats and counts of viewers are passed over."""
        while True:
            while b"\n\n" not in self.buffer:
                self.buffer += (await self.sent.get())["body"]
            text, _, self.buffer = self.buffer.partition(b"\n\n")
            fields = dict(line.split(": ", 1) for line in text.decode().splitlines())
            if "id" in fields:
                return fields["event"], int(fields["id"]), json.loads(fields["data"])


def run(coroutine):
    async def bounded():
        try:
            async with asyncio.timeout(20):
                return await coroutine()
        finally:
            await close_hub()
            await close_async_redis()

    return async_to_sync(bounded)()


def test_a_score_arrives_as_json(board):
    submit(board, "ada", 5, details={"name": "Ada"})
    token = make_key("read")

    async def watch():
        async with Stream("/api/v1/boards/cup/live", token) as stream:
            snapshot = await stream.event()
            await sync_to_async(submit)(board, "bob", 9)
            return stream.start, snapshot, await stream.event()

    start, (kind, sequence, data), (next_kind, next_sequence, changes) = run(watch)
    headers = dict(start["headers"])
    assert start["status"] == 200
    assert headers[b"content-type"].startswith(b"text/event-stream")
    assert b"content-encoding" not in headers
    assert kind == "snapshot"
    assert data["rows"]["ada"] == {
        "player": "ada",
        "rank": 1,
        "previous_rank": None,
        "score": 5.0,
        "details": {"name": "Ada"},
    }
    assert (next_kind, next_sequence) == ("rows", sequence + 1)
    assert changes["order"] == [["bob", 1], ["ada", 2]]
    ranks = {name: (row["previous_rank"], row["rank"]) for name, row in changes["rows"].items()}
    assert ranks == {"bob": (None, 1), "ada": (1, 2)}


def test_given_players_are_watched_wherever_they_stand(board):
    for number in range(60):
        submit(board, f"p{number}", 1000 - number)
    token = make_key("read")

    async def watch():
        path = "/api/v1/boards/cup/live?player=p58&player=p%2Fx&player=p59"
        async with Stream(path, token) as stream:
            first = await stream.event()
            await sync_to_async(submit)(board, "p59", 2000)
            second = await stream.event()
            await sync_to_async(submit)(board, "p/x", 1)
            third = await stream.event()
        last_seen = (b"last-event-id", str(second[1]).encode())
        async with Stream(path, token, [last_seen]) as again:
            return first, second, third, await again.event()

    (kind, _, first), (_, _, second), third, again = run(watch)
    assert (kind, first["size"], first["order"]) == ("snapshot", 2, [["p58", 59], ["p59", 60]])
    assert second["order"] == [["p59", 1], ["p58", 60]]
    assert {name: row["previous_rank"] for name, row in second["rows"].items()} == {
        "p59": 60,
        "p58": 59,
    }
    assert list(third[2]["rows"]) == ["p/x"]
    assert again == third


def test_another_season_begins_with_a_snapshot_of_it(board):
    submit(board, "ada", 5)
    token = make_key("read")

    async def watch():
        async with Stream("/api/v1/boards/cup/live", token) as stream:
            await stream.event()
            await sync_to_async(services.close_season)(board=board, actor=ACTOR, open_next=True)
            return await stream.event()

    kind, _, data = run(watch)
    assert (kind, data["size"], data["order"]) == ("season", 0, [])


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("boards/none/live", 404, "board_not_found"),
        ("boards/cup/live?window=month", 422, "unknown_window"),
        ("boards/cup/live?window=year", 422, "invalid_value"),
        ("boards/cup/live?player=", 422, "empty_id"),
        ("boards/cup/live?player=" + "x" * 257, 422, "id_too_long"),
        ("boards/cup/live?" + "&".join(f"player={n}" for n in range(101)), 422, "invalid_value"),
    ],
)
def test_what_cannot_be_watched_is_refused(board, path, status, code):
    answer = Api().get(path)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_a_private_board_is_watched_with_its_key_only(board):
    board.visibility = "private"
    board.save()
    assert Api().get("boards/cup/live").status_code == 404
    token = make_key("read")

    async def watch():
        async with Stream("/api/v1/boards/cup/live", token) as stream:
            return stream.start["status"], (await stream.event())[0]

    assert run(watch) == (200, "snapshot")


def test_the_limit_counts_streams(board):
    token = make_key("read", rate="1/minute, fixed window")
    api = Api(token)
    assert api.get("boards/cup").status_code == 200
    assert api.get("boards/cup/live").status_code == 429
