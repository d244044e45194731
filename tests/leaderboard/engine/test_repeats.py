"""What is submitted again, or changes nothing, leaves no trace that readers see."""

import json

import pytest

from leaderboard import RedisLeaderboard
from leaderboard.engine import LeaderboardError, SeasonMovedError

KEY = "leaderboard:{demo}"
RULES = {"ties": "earliest", "events": True, "notices": True}


def events(client):
    return [json.loads(fields[b"event"]) for _, fields in client.xrange(f"{KEY}:events")]


def is_quiet(client):
    """Whether the last sequence changed nothing that a board shows."""
    quiet = client.get(f"{KEY}:quiet")
    return quiet is not None and quiet.split()[1] == client.get(f"{KEY}:seq")


@pytest.mark.parametrize(
    "given",
    [{"name": "Ada"}, {"team": "Blue", "name": "Ada"}, {"long": "x" * 100}],
    ids=["some", "another order", "a large value"],
)
def test_details_that_are_stored_already_change_nothing(redis_client, given):
    board = RedisLeaderboard(redis_client, KEY, None, **RULES)
    board.submit("ada", 5, metadata={"name": "Ada", "team": "Blue", "long": "x" * 100})
    board.submit("ada", 5, operator="best", metadata=given)
    assert is_quiet(redis_client)
    assert "details" not in events(redis_client)[-1]
    board.submit("ada", 5, operator="best", metadata={"name": "Ada L."})
    assert not is_quiet(redis_client)
    assert events(redis_client)[-1]["details"] == {"name": "Ada L."}


def test_new_details_of_a_hidden_player_are_stored_quietly(redis_client):
    board = RedisLeaderboard(redis_client, KEY, None, **RULES)
    board.submit("ada", 5, metadata={"name": "Ada"})
    board.hide("ada")
    board.submit("ada", 5, operator="best", metadata={"name": "Ada L."})
    assert is_quiet(redis_client)
    board.unhide("ada")
    assert board.get_user_entry("ada")["metadata"] == {"name": "Ada L."}


def in_season(client, state):
    client.hset(f"{KEY}:season", mapping={"number": 1, "state": state, "opens": 1})
    return RedisLeaderboard(client, KEY, None, season=1, operator="sum", **RULES)


def test_a_score_that_counted_is_confirmed_after_its_season(redis_client):
    board = in_season(redis_client, "open")
    first = board.submit("ada", 5, idempotency_key="once")
    in_season(redis_client, "closed")
    again = board.submit("ada", 5, idempotency_key="once")
    assert again["replayed"]
    assert (again["score"], again["rank"]) == (first["score"], first["rank"])
    with pytest.raises(SeasonMovedError):
        board.submit("ada", 5, idempotency_key="another")
    assert board.get_user_entry("ada")["score"] == 5


def test_rows_that_all_counted_are_confirmed_after_their_season(redis_client):
    board = in_season(redis_client, "open")
    rows = [
        {"user_id": player, "score": 5, "idempotency_key": f"once {player}"}
        for player in ("ada", "grace")
    ]
    board.submit_many(rows)
    in_season(redis_client, "closed")
    assert all(result["replayed"] for result in board.submit_many(rows))
    with pytest.raises(LeaderboardError):
        board.submit_many([*rows, {"user_id": "linus", "score": 5, "idempotency_key": "new"}])
    assert board.get_user_entry("linus") is None
