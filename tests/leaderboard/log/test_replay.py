"""The board played again in Python is the board that Redis has."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leaderboard import RedisLeaderboard
from leaderboard.log.replay import Ranking, Replay, standings

PLAYERS = st.sampled_from(["ada", "bob", "cy", "é", "p10", "p1"])
SUBMISSIONS = st.lists(
    st.tuples(
        PLAYERS,
        st.sampled_from(["set", "best", "sum"]),
        st.sampled_from([0.0, 1.0, 2.0, -3.5, 7.25]),
        st.sampled_from([None, 0.0, 1.0, 2.0]),
    ),
    max_size=25,
)


@pytest.mark.parametrize("subscore", [None, "asc", "desc"])
@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    submissions=SUBMISSIONS,
    order=st.sampled_from(["desc", "asc"]),
    ties=st.sampled_from(["earliest", "latest", "member"]),
    ranking=st.sampled_from(["ordinal", "competition", "dense"]),
)
def test_replay_and_engine_agree(redis_client, subscore, submissions, order, ties, ranking):
    redis_client.flushdb()
    rules = {"order": order, "ties": ties, "ranking": ranking, "subscore": subscore}
    board = RedisLeaderboard(redis_client, "leaderboard:{x}", None, events=True, **rules)
    for player_id, operator, value, second in submissions:
        board.submit(player_id, value, operator=operator, subscore=second if subscore else None)
    replay = Replay(order, subscore)
    for _, fields in redis_client.xrange("leaderboard:{x}:events"):
        event = json.loads(fields[b"event"])
        replay.score(
            event["id"],
            event["operator"],
            event["value"],
            event.get("given_subscore"),
            event["at"],
            event["seq"],
        )
    played = [
        (position, rank, player_id, entry.score)
        for position, rank, player_id, entry in standings(replay.entries, Ranking(**rules))
    ]
    live = [
        (position, entry["rank"], entry["user_id"], entry["score"])
        for position, entry in enumerate(board.list_all(), 1)
    ]
    assert played == live
    again = RedisLeaderboard(redis_client, "leaderboard:{y}", None, **rules)
    again.load(replay.rows())
    assert list(again.scan(details=False)) == list(board.scan(details=False))
    filled = RedisLeaderboard(redis_client, "leaderboard:{z}", None, **rules)
    filled.fill(replay.filled_rows())
    assert list(filled.scan(details=False)) == list(board.scan(details=False))
