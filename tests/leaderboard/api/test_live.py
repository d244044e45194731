"""The live stream for programs."""

import json

import pytest
from asgiref.sync import sync_to_async

from config.redis.connections import get_async_redis, get_redis
from config.redis.listening import listener
from leaderboard import keys
from leaderboard.api.requests import sequence_of
from leaderboard.boards import scores
from leaderboard.closing import seasons
from leaderboard.engine import Submission
from tests.leaderboard.api.streams import Stream, run
from tests.leaderboard.api.support import Api, make_key
from tests.leaderboard.support import ACTOR, submit


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
            await sync_to_async(seasons.close_season)(board=board, actor=ACTOR, open_next=True)
            return await stream.event()

    kind, _, data = run(watch)
    assert (kind, data["size"], data["order"]) == ("season", 0, [])
    assert (data["season"], data["state"], data["rows"]) == (2, "open", {})


@pytest.mark.parametrize("players", ["", "?player=ada&player=bob"])
def test_the_end_of_a_contest_brings_its_final_table_and_says_so(board, players):
    submit(board, "ada", 5, details={"name": "Ada"})
    submit(board, "eve", 6)
    token = make_key("read")

    async def watch():
        async with Stream(f"/api/v1/boards/cup/live{players}", token) as stream:
            await stream.event()
            await sync_to_async(seasons.close_season)(board=board, actor=ACTOR, open_next=False)
            closed = await stream.event()
        async with Stream(f"/api/v1/boards/cup/live{players}", token) as later:
            return closed, await later.event()

    closed, later = run(watch)
    assert (closed[0], later[0]) == ("season", "snapshot")
    for _, _, data in (closed, later):
        assert (data["season"], data["state"]) == (1, "closed")
        assert data["order"] == ([["ada", 2]] if players else [["eve", 1], ["ada", 2]])
        assert data["rows"]["ada"] | {"previous_rank": None} == {
            "player": "ada",
            "rank": 2,
            "previous_rank": None,
            "score": 5.0,
            "details": {"name": "Ada"},
        }


def test_every_event_of_the_board_has_the_same_fields(board):
    submit(board, "ada", 5)
    token = make_key("read")

    async def watch():
        async with Stream("/api/v1/boards/cup/live?player=ada", token) as stream:
            first = await stream.event()
            # Nothing changes for those who are watched.
            await sync_to_async(submit)(board, "bob", 1)
            second = await stream.event()
            await sync_to_async(seasons.close_season)(board=board, actor=ACTOR, open_next=True)
            return first, second, await stream.event()

    events = run(watch)
    assert [kind for kind, _, _ in events] == ["snapshot", "rows", "season"]
    for _, _, data in events:
        assert data.keys() == {"at", "season", "state", "size", "order", "rows"}
    assert events[1][2]["rows"] == {}
    assert events[1][2]["order"] == [["ada", 1]]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("boards/none/live", 404, "board_not_found"),
        ("boards/cup/live?window=month", 422, "unknown_window"),
        ("boards/cup/live?window=year", 422, "invalid_value"),
        ("boards/cup/live?player=", 422, "invalid_value"),
        ("boards/cup/live?player=%01", 422, "invalid_value"),
        ("boards/cup/live?player=" + "x" * 257, 422, "invalid_value"),
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


def test_pages_of_other_origins_may_say_which_event_they_saw_last(settings):
    settings.API_ORIGINS = ["https://game.example"]
    answer = Api().call(
        "OPTIONS",
        "boards/cup/live",
        headers={"Origin": "https://game.example", "Access-Control-Request-Method": "GET"},
    )
    assert "Last-Event-ID" in answer.headers["Access-Control-Allow-Headers"]


@pytest.mark.parametrize("rows", [1, 3])
def test_a_submission_that_changes_nothing_is_logged_and_nobody_else_hears_of_it(board, rows):
    """One row goes by another way through the script than several."""
    api = Api(make_key("read"))
    pages = ["boards/cup/entries", "boards/cup/entries/range"]

    def send(score):
        players = [Submission(f"p{number}", score) for number in range(rows)]
        scores.submit_scores(board=board, rows=players)

    async def listen():
        channels = listener(get_async_redis())
        await channels.subscribe(keys.live(board.key))
        await next_message(channels, "subscribe")
        for score in (4, 4, 6):
            await sync_to_async(send)(score)
        first = await next_message(channels, "message")
        await channels.aclose()
        return first["data"].splitlines()

    send(5)
    tags = [api.get(path).headers["ETag"] for path in pages]
    send(3)
    assert [api.get(path).headers["ETag"] for path in pages] == tags
    events = get_redis().xlen(keys.events(board.key))
    news = run(listen)
    assert [json.loads(line)["score"] for line in news] == [6] * rows
    assert get_redis().xlen(keys.events(board.key)) == events + 3 * rows
    assert [api.get(path).headers["ETag"] for path in pages] != tags


async def next_message(channels, kind):
    while True:
        message = await channels.get_message(timeout=1.0)
        if message is not None and message["type"] == kind:
            return message


def test_a_stream_goes_on_from_the_last_change(board):
    submit(board, "ada", 5)
    sequence = sequence_of(board)
    submit(board, "ada", 4)
    assert sequence_of(board) == sequence
    submit(board, "ada", 6)
    assert sequence_of(board) == sequence + 2
