"""Sums on boards with decimals, and how far a first score may go."""

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leaderboard import RedisLeaderboard
from leaderboard.engine import LeaderboardError, Submission
from leaderboard.log.replay import Replay

KEY = "leaderboard:{x}"
RULES = {"operator": "sum", "ties": "earliest", "windows": ("day", "all"), "season": 1}


def open_board(client, **rules):
    client.flushdb()
    client.hset(f"{KEY}:season", mapping={"number": 1, "state": "open"})
    return RedisLeaderboard(client, KEY, None, **RULES, **rules)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    decimals=st.integers(1, 6),
    units=st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=40),
)
def test_sums_are_those_of_decimal(redis_client, decimals, units):
    board = open_board(redis_client, decimals=decimals)
    amounts = [Decimal(unit).scaleb(-decimals) for unit in units]
    exact = float(sum(amounts))
    replay = Replay("desc", None, decimals)
    for amount in amounts:
        board.submit("ada", float(amount))
        replay.score("ada", "sum", float(amount), None, 1, 1)
    many = [Submission(player, float(amount)) for amount in amounts for player in ("bob", "cy")]
    board.submit_many(many)
    for view in (board, board.window("day"), board.window("all")):
        assert {entry["score"] for entry in view.list_all()} == {exact}
    assert replay.entries["ada"].score == exact


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(amounts=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_finer_amounts_are_rounded_alike_on_the_board_and_from_the_log(redis_client, amounts):
    board, replay = open_board(redis_client, decimals=2), Replay("desc", None, 2)
    for amount in amounts:
        board.submit("ada", amount)
        replay.score("ada", "sum", amount, None, 1, 1)
    score = board.get_user_entry("ada")["score"]
    assert score == replay.entries["ada"].score == round(score, 2)


def test_without_decimals_sums_are_those_of_doubles(redis_client):
    board = open_board(redis_client)
    board.submit("ada", 0.1)
    assert board.submit("ada", 0.7)["score"] == 0.1 + 0.7 != 0.8


@pytest.mark.parametrize("ties", ["member", "earliest"])
def test_a_union_adds_exactly_too(redis_client, ties):
    one, two = (
        RedisLeaderboard(redis_client, f"{KEY}:{n}", None, decimals=2, ties=ties) for n in "ab"
    )
    one.upsert_user("ada", 0.1)
    two.upsert_user("ada", 0.7)
    two.upsert_user("bob", 0.8)
    assert [entry["score"] for entry in one.union([two]).list_all()] == [0.8, 0.8]


def test_scores_that_are_set_keep_every_digit(redis_client):
    board = open_board(redis_client, decimals=2)
    assert board.submit("ada", 0.125, operator="set")["score"] == 0.125


@pytest.mark.parametrize("operator", ["set", "best", "sum"])
def test_the_largest_step_bounds_a_first_score_when_the_board_says_so(redis_client, operator):
    board = open_board(redis_client, largest_step=50, first_step=True)
    with pytest.raises(LeaderboardError) as refused:
        board.submit("ada", 51, operator=operator)
    assert refused.value.code == "step_too_large"
    assert board.get_size() == 0
    assert board.submit("ada", 50, operator=operator)["score"] == 50
    free = open_board(redis_client, largest_step=50)
    if operator != "sum":
        assert free.submit("bob", 51, operator=operator)["score"] == 51
