"""What a submission does, to the board and beside it."""

import pytest

from leaderboard import RedisLeaderboard
from leaderboard.engine.errors import LeaderboardError, RowsRefusedError, SeasonMovedError
from leaderboard.engine.values import Submission
from tests.leaderboard.engine.support import KEY, events, everything
from tests.leaderboard.support import ids


def test_equal_scores_in_one_call_rank_in_the_order_given(client):
    board = RedisLeaderboard(client, KEY, None, ties="earliest")
    ids = [f"p{number}" for number in range(300)]
    board.submit_many([{"user_id": one, "score": 7} for one in ids])
    assert [one["user_id"] for one in board.list_all()] == ids
    board = RedisLeaderboard(client, KEY + "2", None, ties="latest", order="asc")
    board.submit_many([{"user_id": one, "score": 7} for one in ids])
    assert [one["user_id"] for one in board.list_all()] == ids[::-1]


def test_a_repeated_score_keeps_its_first_time(client):
    board = RedisLeaderboard(client, KEY, None, ties="earliest")
    board.upsert_user("first", 5)
    board.upsert_user("second", 5)
    result = board.upsert_user("first", 5)
    assert (result["rank"], result["changed"]) == (1, False)
    board.upsert_user("first", 4)
    assert board.upsert_user("first", 5)["rank"] == 2


@pytest.mark.parametrize(
    "score",
    [
        0,
        -0.0,
        0.1,
        1 / 3,
        2**53,
        -(2**53),
        2**53 - 1,
        1e300,
        -1e-300,
        5e-324,
        1.7976931348623157e308,
    ],
)
@pytest.mark.parametrize("ties", ["member", "earliest"])
def test_a_number_comes_back_as_it_went_in(client, score, ties):
    board = RedisLeaderboard(client, KEY, None, ties=ties, groups=("team",))
    result = board.upsert_user("player", score, {"team": "red"})
    assert result["score"] == score
    for entry in (
        board.get_top(1)[0],
        board.get_user_entry("player"),
        board.get_group("team", "red")["entries"][0],
    ):
        assert entry["score"] == score
        assert str(entry["score"]) != "-0.0"


def test_an_integer_that_a_double_cannot_hold_is_refused(client):
    board = RedisLeaderboard(client, KEY)
    with pytest.raises(LeaderboardError, match="exactly") as error:
        board.upsert_user("player", 2**53 + 1)
    assert error.value.code == "not_exact"


def test_a_subscore_ranks_before_time(client):
    board = RedisLeaderboard(client, KEY, None, ties="earliest", subscore="asc")
    board.submit("slow", 10, subscore=30)
    board.submit("fast", 10, subscore=20)
    board.submit("also fast", 10, subscore=20)
    assert [(one["user_id"], one["subscore"]) for one in board.list_all()] == [
        ("fast", 20.0),
        ("also fast", 20.0),
        ("slow", 30.0),
    ]


@pytest.mark.parametrize("ranking", ["ordinal", "competition", "dense"])
@pytest.mark.parametrize("subscore", ["asc", "desc"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_missing_subscore_ranks_last(client, order, subscore, ranking):
    rules = {"order": order, "subscore": subscore, "ranking": ranking, "ties": "earliest"}
    board = RedisLeaderboard(client, KEY, None, **rules)
    for user_id, second in (("none", None), ("low", -1e300), ("high", 1e300), ("also none", None)):
        board.submit(user_id, 10, subscore=second)
    first, second = ("high", "low") if subscore == "desc" else ("low", "high")
    assert ids(board.list_all()) == [first, second, "none", "also none"]
    assert [one["subscore"] for one in board.list_all()[2:]] == [None, None]
    last = {"ordinal": 4, "competition": 3, "dense": 3}[ranking]
    assert board.get_rank("also none") == last
    # Any subscore is better than none; none at all keeps the one that is there.
    assert board.submit("none", 10, operator="best", subscore=0)["changed"] is True
    assert board.submit("none", 10, operator="best")["changed"] is False
    assert board.submit("none", 10, operator="set")["subscore"] == 0.0


def test_the_same_idempotency_key_counts_once(client):
    board = RedisLeaderboard(client, KEY, None, operator="sum", ties="earliest")
    first = board.submit("player", 5, idempotency_key="a", metadata={"name": "Ada"})
    again = board.submit("player", 5, idempotency_key="a", metadata={"name": "Eve"})
    assert again == first | {"replayed": True}
    assert board.get_user_entry("player")["score"] == 5.0
    assert board.get_user_metadata("player") == {"name": "Ada"}
    assert board.submit("player", 5, idempotency_key="b")["score"] == 10.0
    assert board.submit("other", 5, idempotency_key="a")["replayed"] is False
    ttl = client.ttl(f"{KEY}:once:6:player:a")
    assert 86_000 < ttl <= 86_400


def test_a_refused_submission_does_not_use_up_its_key(client):
    board = RedisLeaderboard(client, KEY, None, highest=10)
    with pytest.raises(LeaderboardError):
        board.submit("player", 11, idempotency_key="a")
    assert board.submit("player", 9, idempotency_key="a")["replayed"] is False


def test_many_rows_each_get_a_result_or_an_error(client):
    board = RedisLeaderboard(client, KEY, None, highest=1000, ties="earliest")
    rows = [Submission(f"p{number}", number % 1100) for number in range(2500)]
    rows[3] = {"user_id": "", "score": 1}
    rows[4] = {"user_id": "x", "score": float("nan")}
    rows[5] = {"user_id": "x"}
    results = board.submit_many(rows)
    codes = {n: one.code for n, one in enumerate(results) if isinstance(one, LeaderboardError)}
    assert {codes[3], codes[4], codes[5]} == {"empty_id", "not_finite", "invalid_row"}
    assert codes[1001] == "score_too_high"
    assert board.get_size() == 2500 - len(codes)
    assert results[0]["user_id"] == "p0"
    assert results[2499]["score"] == 2499 % 1100


def test_all_or_nothing_writes_nothing_when_a_row_is_wrong(client):
    board = RedisLeaderboard(client, KEY, None, operator="sum", highest=10, ties="earliest")
    board.upsert_user("player", 5)
    before = everything(client)
    rows = [{"user_id": "other", "score": 1}] + [{"user_id": "player", "score": 2}] * 3
    with pytest.raises(RowsRefusedError) as error:
        board.submit_many(rows, all_or_nothing=True)
    assert {number: one.code for number, one in error.value.errors.items()} == {3: "score_too_high"}
    assert everything(client) == before
    with pytest.raises(RowsRefusedError):
        board.submit_many([{"user_id": "", "score": 1}, *rows[:2]], all_or_nothing=True)
    assert everything(client) == before
    results = board.submit_many(rows[:3], all_or_nothing=True)
    assert [one["score"] for one in results] == [1.0, 7.0, 9.0]


def test_details_change_without_the_score(client):
    board = RedisLeaderboard(client, KEY, None, ties="earliest")
    board.upsert_user("a", 5, {"name": "A"})
    board.upsert_user("b", 5)
    result = board.update_details("a", {"name": "Anna", "team": "red"})
    assert result["metadata"] == {"name": "Anna", "team": "red"}
    assert (result["rank"], result["score"], result["changed"]) == (1, 5.0, False)
    assert board.update_details("nobody", {"name": "N"}) is None
    assert board.get_user_metadata("nobody") == {}


@pytest.mark.parametrize("ties", ["member", "earliest"])  # a plain board has a script of its own
def test_none_removes_a_detail(client, ties):
    board = RedisLeaderboard(client, KEY, None, ties=ties)
    board.upsert_user("a", 5, {"name": "A", "team": "red", "pro": True})
    result = board.upsert_user("a", 6, {"team": None, "level": 3})
    assert result["metadata"] == {"name": "A", "pro": "true", "level": "3"}
    gone = {"name": None, "pro": None, "level": None}
    assert board.submit("a", 7, metadata=gone, idempotency_key="k")["metadata"] == {}
    assert board.get_user_metadata("a") == {}
    rows = [{"user_id": one, "score": 9, "metadata": {"name": None, "x": one}} for one in "ab"]
    board.submit_many(rows)
    assert [board.get_user_metadata(one) for one in "ab"] == [{"x": "a"}, {"x": "b"}]


def test_details_have_a_limit_in_all(client):
    board = RedisLeaderboard(client, KEY)
    board.upsert_user("player", 1, {f"field{number}": "x" for number in range(32)})
    before = everything(client)
    with pytest.raises(LeaderboardError) as error:
        board.upsert_user("player", 2, {"one more": "x"})
    assert error.value.code == "too_many_details"
    assert everything(client) == before
    board.upsert_user("other", 1, {"a": "x" * 3000})
    with pytest.raises(LeaderboardError) as error:
        board.upsert_user("other", 2, {"b": "x" * 3000})
    assert error.value.code == "details_too_large"
    assert board.get_user_entry("other")["score"] == 1.0


def test_a_hidden_player_keeps_the_score_and_its_time(client):
    board = RedisLeaderboard(client, KEY, None, ties="earliest", groups=("team",))
    for user_id in ("a", "b", "c"):
        board.upsert_user(user_id, 5, {"team": "red"})
    assert board.hide("a") is True
    assert [one["user_id"] for one in board.list_all()] == ["b", "c"]
    assert board.get_rank("a") is None
    assert board.get_around_user("a", 3) == []
    assert board.get_entries(["a", "b"])["missing"] == ["a"]
    assert board.get_group("team", "red")["size"] == 2
    assert board.get_size() == 2
    assert board.hide("a") is False
    assert board.submit("a", 5)["rank"] is None
    assert board.unhide("a") is True
    assert [one["user_id"] for one in board.list_all()] == ["a", "b", "c"]
    board.hide("c")
    assert board.submit("c", 9)["score"] == 9.0
    board.unhide("c")
    assert board.get_rank("c") == 1


def test_rows_that_are_written_together_are_ranked_together(client):
    board = RedisLeaderboard(client, KEY, None, ties="earliest", events=True)
    board.submit_many([{"user_id": one, "score": 10} for one in ("ada", "grace", "linus")])
    rows = [
        {"user_id": "linus", "score": 20},
        {"user_id": "nobody", "score": float("nan")},
        {"user_id": "grace", "score": 30},
        {"user_id": "linus", "score": 40},
    ]
    results = board.submit_many(rows)
    assert results.pop(1).code == "not_finite"
    ranks = [(one["user_id"], one["previous_rank"], one["rank"]) for one in results]
    assert ranks == [("linus", 3, 2), ("grace", 2, 1), ("linus", 2, 1)]
    assert [one["sequence"] for one in results] == [4, 5, 6]
    assert [(one["id"], one["rank"]) for one in events(client)[3:]] == [
        ("linus", 2),
        ("grace", 1),
        ("linus", 1),
    ]


def test_a_plain_board_writes_nothing_beside_itself(redis_client):
    board = RedisLeaderboard(redis_client, KEY)
    assert board.upsert_user("a", 1)["sequence"] is None
    board.hide("a")
    board.unhide("a")
    assert list(redis_client.scan_iter()) == [KEY.encode()]


@pytest.mark.parametrize(
    ("pointer", "number", "state"),
    [
        ({}, None, None),
        ({"number": 4, "state": "open", "closes": ""}, 4, "open"),
        ({"number": 3, "state": "closed", "closes": ""}, 3, "closed"),
        ({"number": 3, "state": "open", "closes": 1_700_000_000_000_000}, 3, "open"),
    ],
)
def test_a_write_for_another_season_is_refused(client, pointer, number, state):
    board = RedisLeaderboard(client, KEY, None, ties="earliest", season=3, windows=("day",))
    if pointer:
        client.hset(f"{KEY}:season", mapping=pointer)
    before = everything(client)
    for write in (
        lambda: board.submit("player", 1, metadata={"a": "b"}, idempotency_key="k"),
        lambda: board.submit_many([{"user_id": "player", "score": 1}]),
    ):
        with pytest.raises(SeasonMovedError) as error:
            write()
        assert (error.value.number, error.value.state) == (number, state)
        assert everything(client) == before


def test_a_season_that_is_open_takes_scores(client):
    board = RedisLeaderboard(client, KEY, None, season=3)
    client.hset(f"{KEY}:season", mapping={"number": 3, "state": "open", "closes": 2**52})
    board.upsert_user("player", 1)
    assert client.zcard(f"{KEY}:s3") == 1
    assert board.season(2).list_all() == []
    with pytest.raises(LeaderboardError, match="view"):
        board.season(2).upsert_user("player", 1)


def test_trimming_a_great_many_takes_several_calls(redis_client):
    board = RedisLeaderboard(redis_client, KEY, None, ties="earliest")
    board.load({"user_id": f"p{number}", "score": number} for number in range(12_000))
    trimmed = board.set_max_entries(500)
    assert len(trimmed) == 11_500
    assert trimmed[:2] == ["p0", "p1"]
    assert board.get_size() == 500
    assert redis_client.hlen(f"{KEY}:at") == 500


def test_clearing_a_great_many_leaves_nothing(redis_client):
    board = RedisLeaderboard(redis_client, KEY, None)
    rows = [{"user_id": f"p{n}", "score": n, "metadata": {"a": "b"}} for n in range(12_000)]
    assert board.load(rows) == 12_000
    board.clear()
    assert redis_client.dbsize() == 0
