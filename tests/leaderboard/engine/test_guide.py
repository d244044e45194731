"""A program in the manner of the redis.io leaderboard guide runs on the engine as it is."""

import contextlib

import pytest

from leaderboard import AsyncRedisLeaderboard, RedisLeaderboard

PLAYERS = [
    ("player-1", 1200, {"name": "Ada", "country": "GB"}),
    ("player-2", 900, {"name": "Linus", "country": "FI"}),
    ("player-3", 1500, {"name": "Grace", "country": "US"}),
    ("player-4", 700, {"name": "Guido", "country": "NL"}),
]


def test_a_guide_program(client, backend):
    board = RedisLeaderboard(redis_client=client, key=backend.key(), max_entries=100)
    assert board.get_top(3) == []
    assert board.get_around_rank(1, 3) == []
    for user_id, score, details in PLAYERS:
        result = board.upsert_user(user_id, score, details)
        assert result["trimmed_user_ids"] == []
    assert result["rank"] == 4
    assert result["metadata"] == {"name": "Guido", "country": "NL"}

    assert [(one["rank"], one["user_id"], one["score"]) for one in board.get_top(2)] == [
        (1, "player-3", 1500.0),
        (2, "player-1", 1200.0),
    ]
    result = board.increment_score("player-2", 400, {"country": "SE"})
    assert (result["rank"], result["score"]) == (2, 1300.0)
    assert result["metadata"] == {"name": "Linus", "country": "SE"}
    assert board.get_user_metadata("player-2") == {"name": "Linus", "country": "SE"}

    ranks = [one["rank"] for one in board.get_around_rank(1, 3)]
    assert ranks == [1, 2, 3]
    assert [one["rank"] for one in board.get_around_rank(99, 3)] == [2, 3, 4]
    assert [one["rank"] for one in board.get_around_rank(3, 2)] == [2, 3]
    assert len(board.get_around_rank(2, 10)) == 4

    assert board.get_rank("player-3") == 1
    assert board.get_rank("nobody") is None
    assert board.get_user_entry("nobody") is None
    assert board.get_user_entry("player-4") == {
        "rank": 4,
        "user_id": "player-4",
        "score": 700.0,
        "metadata": {"name": "Guido", "country": "NL"},
    }

    assert board.set_max_entries(2) == ["player-4", "player-1"]
    assert board.max_entries == 2
    result = board.upsert_user("player-5", 1, {"name": "Late"})
    assert result["rank"] is None
    assert result["metadata"] == {"name": "Late"}
    assert result["trimmed_user_ids"] == ["player-5"]
    assert board.get_user_metadata("player-5") == {}
    assert board.get_size() == 2
    assert board.delete_user("player-2") is True
    assert board.delete_user("player-2") is False
    assert [one["user_id"] for one in board.list_all()] == ["player-3"]
    board.clear()
    assert board.get_size() == 0
    assert list(client.scan_iter()) == []


@pytest.mark.one_server  # without braces its keys fall into several slots
def test_the_guides_key_layout(redis_client):
    board = RedisLeaderboard(redis_client)
    board.upsert_user("player-1", 1200, {"name": "Ada"})
    board.upsert_user("player-2", 10.5)
    assert redis_client.zrange("leaderboard:demo", 0, -1, desc=True, withscores=True) == [
        (b"player-1", 1200.0),
        (b"player-2", 10.5),
    ]
    assert redis_client.hgetall("leaderboard:demo:user:player-1") == {b"name": b"Ada"}
    assert set(redis_client.scan_iter()) == {b"leaderboard:demo", b"leaderboard:demo:user:player-1"}


@pytest.mark.parametrize("decode", [True, False])
async def test_its_async_twin(backend, decode):
    async with contextlib.aclosing(backend.async_client(decode_responses=decode)) as client:
        board = AsyncRedisLeaderboard(redis_client=client, key=backend.key(), max_entries=3)
        for user_id, score, details in PLAYERS:
            result = await board.upsert_user(user_id, score, details)
        assert result["rank"] is None
        assert result["trimmed_user_ids"] == ["player-4"]
        result = await board.increment_score("player-2", 400)
        assert (result["rank"], result["previous_rank"]) == (2, 3)
        assert [one["user_id"] for one in await board.get_top(2)] == ["player-3", "player-2"]
        assert [one["rank"] for one in await board.get_around_rank(3, 2)] == [2, 3]
        assert await board.get_rank("player-1") == 3
        assert (await board.get_user_entry("player-1"))["metadata"]["name"] == "Ada"
        assert (await board.get_user_metadata("player-1"))["country"] == "GB"
        assert await board.set_max_entries(1) == ["player-1", "player-2"]
        assert await board.get_size() == 1
        assert await board.delete_user("player-3") is True
        await board.clear()
        assert await board.list_all() == []


@pytest.mark.parametrize(
    "wrong",
    [
        lambda board: board.get_top(0),
        lambda board: board.get_around_rank(0, 3),
        lambda board: board.get_around_rank(1, -1),
        lambda board: board.set_max_entries(0),
        lambda board: board.upsert_user("", 1),
        lambda board: board.upsert_user("player", float("nan")),
        lambda board: board.upsert_user("player", float("inf")),
        lambda board: board.increment_score("player", float("-inf")),
        lambda board: RedisLeaderboard(board.redis, max_entries=0),
    ],
)
def test_what_the_guide_refuses(redis_client, wrong):
    board = RedisLeaderboard(redis_client)
    with pytest.raises(ValueError, match=r"\w"):
        wrong(board)
    assert redis_client.dbsize() == 0
