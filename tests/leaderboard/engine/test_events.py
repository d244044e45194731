"""What a write adds to the stream of events, and whom it notifies."""

import json

import pytest

from leaderboard import RedisLeaderboard
from leaderboard.engine.errors import LeaderboardError
from tests.leaderboard.engine.support import KEY, events, everything
from tests.servers import OWN_SERVER


def test_an_event_has_all_that_a_rebuild_needs(client):
    board = RedisLeaderboard(
        client, KEY, None, operator="best", ties="earliest", subscore="desc", events=True, season=2
    )
    client.hset(f"{KEY}:season", mapping={"number": 2, "state": "open", "closes": ""})
    board.submit(
        "player", 7, subscore=3, metadata={"name": "Ada"}, idempotency_key="k", source="api"
    )
    board.submit("player", 5)
    first, second = events(client)
    assert first.pop("at") > 1_700_000_000_000_000
    assert first == {
        "op": "score",
        "id": "player",
        "seq": 1,
        "season": 2,
        "source": "api",
        "operator": "best",
        "value": 7,
        "score": 7,
        "previous": None,
        "rank": 1,
        "previous_rank": None,
        "subscore": 3,
        "given_subscore": 3,
        "key": "k",
        "details": {"name": "Ada"},
    }
    assert (second["value"], second["score"], second["seq"]) == (5, 7, 2)
    board.hide("player")
    board.unhide("player")
    board.set_max_entries(5)
    board.delete_user("player")
    board.clear()
    kinds = [one["op"] for one in events(client)[2:]]
    assert kinds == ["hide", "unhide", "limit", "remove", "reset"]


@pytest.mark.parametrize("rules", [{}, {"ties": "earliest", "windows": ("day",)}])
def test_a_stream_that_is_something_else_stops_every_write(client, rules):
    board = RedisLeaderboard(client, KEY, None, events=True, **rules)
    board.upsert_user("player", 1)
    client.delete(f"{KEY}:events")
    client.set(f"{KEY}:events", "something else")
    before = everything(client)
    for write in (
        lambda: board.submit("player", 2, metadata={"a": "b"}, idempotency_key="k"),
        lambda: board.submit_many([{"user_id": "other", "score": 1}]),
        lambda: board.update_details("player", {"a": "b"}),
        lambda: board.delete_user("player"),
        lambda: board.hide("player"),
        lambda: board.set_max_entries(1),
        board.clear,
    ):
        with pytest.raises(LeaderboardError, match="another type"):
            write()
        assert everything(client) == before


def test_the_stream_is_capped(redis_client):
    board = RedisLeaderboard(redis_client, KEY, None, events=True, event_cap=100)
    board.submit_many([{"user_id": "p", "score": number} for number in range(2000)])
    assert redis_client.xlen(f"{KEY}:events") < 400


def test_a_notice_says_who_moved_where(redis_client):
    board = RedisLeaderboard(redis_client, KEY, None, notices=True)
    with (
        OWN_SERVER.client_of(f"{KEY}:live") as client,
        client.pubsub(ignore_subscribe_messages=True) as listener,
    ):
        listener.ssubscribe(f"{KEY}:live")
        listener.get_message(timeout=5)  # the subscription
        board.upsert_user('a"b', 5)
        board.upsert_user("other", 6.5)
        messages = [json.loads(listener.get_message(timeout=5)["data"]) for _ in range(2)]
    at = messages[0].pop("at")
    assert at > 1_700_000_000_000_000
    assert messages[0] == {
        "op": "score",
        "id": 'a"b',
        "seq": 1,
        "season": None,
        "source": "",
        "operator": "set",
        "value": 5,
        "score": 5,
        "previous": None,
        "rank": 1,
        "previous_rank": None,
    }
    assert (messages[1]["score"], messages[1]["rank"], messages[1]["seq"]) == (6.5, 1, 2)


def test_the_notices_of_many_come_in_the_lines_of_one_message(redis_client):
    board = RedisLeaderboard(redis_client, KEY, None, ties="earliest", notices=True)
    with (
        OWN_SERVER.client_of(f"{KEY}:live") as client,
        client.pubsub(ignore_subscribe_messages=True) as listener,
    ):
        listener.ssubscribe(f"{KEY}:live")
        listener.get_message(timeout=5)  # the subscription
        board.submit_many([{"user_id": f"p\n{number}", "score": 5} for number in range(3)])
        lines = listener.get_message(timeout=5)["data"].splitlines()
    told = [json.loads(line) for line in lines]
    assert [(one["id"], one["seq"], one["rank"]) for one in told] == [
        ("p\n0", 1, 1),
        ("p\n1", 2, 2),
        ("p\n2", 3, 3),
    ]
