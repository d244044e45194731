"""Bad input: an error that people and machines understand, and nothing written."""

import pytest

from leaderboard import AsyncRedisLeaderboard, RedisLeaderboard
from leaderboard.engine.errors import LeaderboardError

KEY = "leaderboard:{bad}"
WRONG = {
    "nan": (lambda board: board.upsert_user("a", float("nan")), "not_finite"),
    "infinity": (lambda board: board.upsert_user("a", float("inf")), "not_finite"),
    "too large": (lambda board: board.upsert_user("a", 10**400), "not_finite"),
    "text": (lambda board: board.upsert_user("a", "many"), "not_a_number"),
    "none": (lambda board: board.upsert_user("a", None), "not_a_number"),
    "a truth value": (lambda board: board.upsert_user("a", True), "not_a_number"),
    "nan amount": (lambda board: board.increment_score("a", float("nan")), "not_finite"),
    "empty id": (lambda board: board.upsert_user("", 1), "empty_id"),
    "no id": (lambda board: board.upsert_user(None, 1), "invalid_id"),
    "long id": (lambda board: board.upsert_user("é" * 129, 1), "id_too_long"),
    "half a character": (lambda board: board.upsert_user("\ud800", 1), "invalid_text"),
    "long id in a read": (lambda board: board.get_rank("x" * 257), "id_too_long"),
    "operator": (lambda board: board.submit("a", 1, operator="max"), "invalid_operator"),
    "subscore": (lambda board: board.submit("a", 1, subscore=1), "no_subscore"),
    "empty key": (
        lambda board: board.submit("a", 1, idempotency_key=""),
        "invalid_idempotency_key",
    ),
    "long key": (
        lambda board: board.submit("a", 1, idempotency_key="k" * 257),
        "invalid_idempotency_key",
    ),
    "many details": (
        lambda board: board.upsert_user("a", 1, {str(n): "x" for n in range(33)}),
        "too_many_details",
    ),
    "large details": (
        lambda board: board.upsert_user("a", 1, {"x": "é" * 2048}),
        "details_too_large",
    ),
    "count 0": (lambda board: board.get_top(0), "too_small"),
    "count": (lambda board: board.get_top(10_001), "too_large"),
    "count as text": (lambda board: board.get_top("x"), "not_a_number"),
    "rank 0": (lambda board: board.get_around_rank(0, 5), "too_small"),
    "offset of rank 0": (lambda board: board.get_offset(0), "too_small"),
    "rank": (lambda board: board.get_around_rank(2**60, 5), "too_large"),
    "offset": (lambda board: board.get_page(-1, 5), "too_small"),
    "range": (lambda board: board.get_score_range(5, 4), "too_large"),
    "bins": (lambda board: board.get_distribution(0), "too_small"),
    "group": (lambda board: board.get_group("team", "red"), "unknown_group"),
    "limit": (lambda board: board.set_max_entries(0), "too_small"),
    "window": (lambda board: board.window("day"), "unknown_window"),
    "union": (lambda board: board.union([], "most"), "invalid_union"),
}
WRONG_RULES = {
    "order": {"order": "up"},
    "operator": {"operator": "max"},
    "ties": {"ties": "random"},
    "ranking": {"ranking": "standard"},
    "subscore": {"subscore": True},
    "windows": {"windows": ("hour",)},
    "groups": {"groups": ("team", "team")},
    "lowest": {"lowest": 2, "highest": 1},
    "highest": {"highest": float("nan")},
    "largest_step": {"largest_step": -1},
    "time_zone": {"time_zone": "Mars/Olympus"},
    "retention_days": {"retention_days": -1},
    "season": {"season": 0},
    "event_cap": {"event_cap": 0},
    "max_entries": {"max_entries": 0},
    "colour": {"colour": "red"},
}


@pytest.mark.parametrize("user_id", ["a\0b", "line\nbreak", "\x7f"])
def test_control_characters_are_refused_where_the_board_says_so(redis_client, user_id):
    RedisLeaderboard(redis_client, KEY).upsert_user(user_id, 1)
    board = RedisLeaderboard(redis_client, KEY, printable_ids=True)
    for call in (
        lambda: board.upsert_user(user_id, 1),
        lambda: board.get_rank(user_id),
        lambda: board.delete_user(user_id),
    ):
        with pytest.raises(LeaderboardError, match="control characters"):
            call()
    assert board.get_size() == 1


@pytest.mark.parametrize("name", WRONG)
def test_it_refuses(redis_client, name):
    call, code = WRONG[name]
    with pytest.raises(LeaderboardError) as error:
        call(RedisLeaderboard(redis_client, KEY))
    assert error.value.code == code
    assert error.value.field
    assert len(str(error.value)) > 10
    assert redis_client.dbsize() == 0


@pytest.mark.parametrize("field", WRONG_RULES)
@pytest.mark.parametrize("kind", [RedisLeaderboard, AsyncRedisLeaderboard])
def test_it_refuses_the_rule(kind, field):
    with pytest.raises(LeaderboardError) as error:
        kind(object(), KEY, **WRONG_RULES[field])
    assert error.value.field == field


@pytest.mark.parametrize(
    ("submit", "code"),
    [
        ({"score": -11}, "score_too_low"),
        ({"score": 101}, "score_too_high"),
        ({"score": 61}, "step_too_large"),
        ({"score": -20, "operator": "sum"}, "score_too_low"),
        ({"score": 51, "operator": "sum"}, "step_too_large"),
        ({"score": 101, "operator": "best"}, "score_too_high"),
    ],
)
def test_it_refuses_a_score_outside_the_bounds(client, submit, code):
    board = RedisLeaderboard(client, KEY, None, lowest=-10, highest=100, largest_step=50)
    board.upsert_user("player", 5)
    with pytest.raises(LeaderboardError) as error:
        board.submit("player", **submit)
    assert error.value.code == code
    assert board.get_user_entry("player")["score"] == 5.0


@pytest.mark.parametrize(
    ("score", "bound"), [(-1, "below 0,"), (10_000_001, "above 10000000,"), (8, "more than 2.5,")]
)
def test_a_refusal_names_the_bound(client, score, bound):
    rules = {"lowest": 0, "highest": 10_000_000, "largest_step": 2.5}
    board = RedisLeaderboard(client, KEY, None, **rules)
    board.upsert_user("player", 5)
    with pytest.raises(LeaderboardError, match=bound):
        board.upsert_user("player", score)


def test_a_sum_that_no_number_can_hold_is_refused(client):
    for rules in ({}, {"ties": "earliest"}):
        board = RedisLeaderboard(client, KEY + str(len(rules)), None, **rules)
        board.upsert_user("player", 1.7e308)
        with pytest.raises(LeaderboardError) as error:
            board.increment_score("player", 1.7e308)
        assert error.value.code == "score_overflow"


@pytest.mark.parametrize(
    "user_id", ["a:b", "{a}", "user:x", "日本", "🏆" * 64, " ", '"', "x" * 256, "\\"]
)
@pytest.mark.parametrize("ties", ["member", "earliest"])
def test_any_text_can_be_an_id(client, user_id, ties):
    board = RedisLeaderboard(client, KEY, None, ties=ties, groups=("team",))
    board.upsert_user(user_id, 1, {"team": user_id})
    assert board.list_all()[0]["user_id"] == user_id
    assert board.get_rank(user_id) == 1
    assert board.get_entries([user_id])["missing"] == []
    assert board.delete_user(user_id) is True
    board.clear()
    left = [one if isinstance(one, str) else one.decode() for one in client.scan_iter()]
    assert left in ([], [f"{KEY}:seq"])


@pytest.mark.parametrize("suffix", ["", ":user:player", ":w:all:all", ":hidden", ":seq"])
@pytest.mark.parametrize("ties", ["member", "earliest"])
def test_a_key_of_another_type_is_left_alone(client, suffix, ties):
    season = 1 if suffix.startswith(":w") else None
    board = RedisLeaderboard(
        client,
        KEY,
        None,
        ties=ties,
        windows=("all",) if season else (),
        season=season,
        notices=True,
    )
    if season:
        client.hset(f"{KEY}:season", mapping={"number": 1, "state": "open"})
    client.rpush(KEY + suffix, "something else")
    before = {one: client.dump(one) for one in client.scan_iter()}
    with pytest.raises(LeaderboardError) as error:
        board.upsert_user("player", 5, {"name": "Ada"})
    assert error.value.code == "wrong_type"
    assert {one: client.dump(one) for one in client.scan_iter()} == before
