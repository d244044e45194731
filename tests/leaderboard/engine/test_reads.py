"""Reads on boards with many entries, and what they cost."""

import contextlib
import random

import pytest

from leaderboard import AsyncRedisLeaderboard, RedisLeaderboard
from leaderboard.engine.errors import LeaderboardError

KEY = "leaderboard:{reads}"
DETAILS = {"name": "Ada", "country": "GB", "team": "red"}


class Counting:
    """A client that counts the round trips."""

    def __init__(self, client):
        self.client = client
        self.calls = 0

    def execute_command(self, *args):
        self.calls += 1
        return self.client.execute_command(*args)

    def __getattr__(self, name):
        self.calls += 1
        return getattr(self.client, name)


@pytest.fixture
def many(backend):
    """A thousand players with ten distinct scores."""
    with contextlib.closing(backend.client()) as client:
        yield client


@pytest.mark.parametrize("ranking", ["ordinal", "competition", "dense"])
@pytest.mark.parametrize(
    "rules", [{}, {"ties": "earliest"}, {"subscore": "asc"}, {"order": "asc", "ties": "latest"}]
)
def test_ranks_hold_across_pages(many, ranking, rules):
    chance = random.Random(5)
    board = RedisLeaderboard(many, KEY, None, ranking=ranking, **rules)
    rows = [
        {"user_id": f"p{number}", "score": chance.randrange(10), "metadata": {"n": str(number)}}
        | ({"subscore": chance.randrange(3)} if "subscore" in rules else {})
        for number in range(1000)
    ]
    chance.shuffle(rows)
    board.submit_many(rows)
    entries = board.list_all()
    expected, last = [], None
    for place, entry in enumerate(entries, 1):
        now = (entry["score"], entry.get("subscore"))
        if ranking == "ordinal":
            rank = place
        elif now != last:
            rank = place if ranking == "competition" else (expected[-1] + 1 if expected else 1)
        last = now
        expected.append(rank)
    assert [one["rank"] for one in entries] == expected
    paged = [one for offset in range(0, 1000, 70) for one in board.get_page(offset, 70)]
    assert paged == entries
    assert [one | {"rank": 0} for one in board.scan(300)] == [
        one | {"rank": 0, "at": two["at"], "counter": two["counter"]}
        for one, two in zip(entries, board.scan(1000), strict=True)
    ]
    for place in (0, 1, 500, 998, 999):
        entry = entries[place]
        assert board.get_rank(entry["user_id"]) == entry["rank"]
        assert entry in board.get_around_user(entry["user_id"], 5)
        start = max(0, min(place - 2, 995))
        assert board.get_around_rank(place + 1, 5) == entries[start : start + 5]
        assert board.get_offset(entry["rank"]) == expected.index(entry["rank"])
    assert board.get_offset(2**53) == 1000


def test_a_rank_that_a_tie_leaves_out_is_a_place(many):
    board = RedisLeaderboard(many, KEY, None, ranking="competition")
    assert board.get_offset(1) == 0  # nobody is there
    board.submit_many(
        [{"user_id": name, "score": score} for name, score in zip("abc", (9, 9, 5), strict=True)]
    )
    assert [one["rank"] for one in board.get_top(3)] == [1, 1, 3]
    assert [board.get_offset(rank) for rank in (1, 2, 3, 4)] == [0, 1, 2, 3]


def test_every_operation_is_one_round_trip(many):
    client = Counting(many)
    rules = {
        "ties": "earliest",
        "ranking": "dense",
        "groups": ("team",),
        "windows": ("day", "week"),
    }
    board = RedisLeaderboard(client, KEY, 500, events=True, notices=True, **rules)
    other = RedisLeaderboard(client, KEY + "other", 500, ties="earliest")
    board.submit_many([{"user_id": f"p{n}", "score": n, "metadata": DETAILS} for n in range(300)])
    other.upsert_user("p1", 1)
    operations = {
        "upsert_user": lambda: board.upsert_user("a", 5, DETAILS),
        "increment_score": lambda: board.increment_score("a", 5),
        "submit": lambda: board.submit("a", 5, idempotency_key="k"),
        "submit_many": lambda: board.submit_many([{"user_id": "a", "score": 5}] * 500),
        "update_details": lambda: board.update_details("a", {"name": "b"}),
        "set_max_entries": lambda: board.set_max_entries(250),
        "hide": lambda: board.hide("a"),
        "unhide": lambda: board.unhide("a"),
        "get_top": lambda: board.get_top(100),
        "get_page": lambda: board.get_page(50, 50),
        "get_around_rank": lambda: board.get_around_rank(100, 11),
        "get_around_user": lambda: board.get_around_user("p200", 11),
        "get_score_range": lambda: board.get_score_range(100, 200),
        "get_range_page": lambda: board.get_range_page(100, 200),
        "get_entries": lambda: board.get_entries(["p100", "p200", "nobody"]),
        "get_rank": lambda: board.get_rank("p200"),
        "get_offset": lambda: board.get_offset(100),
        "get_user_entry": lambda: board.get_user_entry("p200"),
        "get_user_metadata": lambda: board.get_user_metadata("p200"),
        "get_percentile": lambda: board.get_percentile("p200"),
        "get_distribution": lambda: board.get_distribution(20),
        "get_group": lambda: board.get_group("team", "red"),
        "get_size": lambda: board.get_size(),
        "list_all": lambda: board.list_all(),
        "union": lambda: board.union([other]),
        "delete_user": lambda: board.delete_user("p200"),
        "clear": lambda: board.clear(),
    }
    for operation in operations.values():
        operation()  # the scripts are known from now on
    board.submit_many([{"user_id": f"p{n}", "score": n, "metadata": DETAILS} for n in range(300)])
    for name, operation in operations.items():
        client.calls = 0
        operation()
        assert client.calls == 1, name


async def test_the_async_twin_gives_the_same_results(backend):
    rules = {"ties": "earliest", "ranking": "competition", "groups": ("team",), "subscore": "asc"}
    with contextlib.closing(backend.client()) as client:
        async with contextlib.aclosing(backend.async_client()) as async_client:
            board = RedisLeaderboard(client, "leaderboard:{one}", 40, **rules)
            twin = AsyncRedisLeaderboard(async_client, "leaderboard:{two}", 40, **rules)
            submission = {"subscore": 2, "metadata": DETAILS, "idempotency_key": "k"}
            steps = [
                ("submit_many", ([{"user_id": f"p{n}", "score": n % 7} for n in range(50)],), {}),
                ("submit", ("p49", 3), submission),
                ("submit", ("p49", 3), submission),
                ("upsert_user", ("p48", 6, DETAILS), {}),
                ("increment_score", ("p47", 2), {}),
                ("update_details", ("p48", {"team": "blue"}), {}),
                ("hide", ("p48",), {}),
                ("unhide", ("p48",), {}),
                ("get_top", (10,), {}),
                ("get_page", (10, 10), {}),
                ("get_around_rank", (20, 5), {}),
                ("get_around_user", ("p47", 5), {}),
                ("get_score_range", (3, 5), {}),
                ("get_range_page", (3, 5), {}),
                ("get_entries", (["p47", "p48", "nobody"],), {}),
                ("get_rank", ("p47",), {}),
                ("get_offset", (3,), {}),
                ("get_user_entry", ("p48",), {}),
                ("get_user_metadata", ("p48",), {}),
                ("get_percentile", ("p48",), {}),
                ("get_distribution", (5,), {}),
                ("get_group", ("team", "blue"), {}),
                ("get_size", (), {}),
                ("list_all", (), {}),
                ("set_max_entries", (5,), {}),
                ("delete_user", ("p48",), {}),
            ]
            for name, args, options in steps:
                expected = getattr(board, name)(*args, **options)
                assert await getattr(twin, name)(*args, **options) == expected, name
            scanned = [one async for one in twin.scan(2)]
            assert [one["user_id"] for one in scanned] == [one["user_id"] for one in board.scan(2)]
            assert await twin.load(scanned) == board.load(board.scan())
            assert (await (await twin.union([])).list_all()) == board.union([]).list_all()
            await twin.clear()
            assert await twin.get_size() == 0
            with pytest.raises(LeaderboardError, match="finite"):
                await twin.submit("a", float("nan"))


def test_both_classes_have_the_same_methods():
    def public(kind):
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(RedisLeaderboard) == public(AsyncRedisLeaderboard)


def test_a_distribution_counts_everybody_once(many):
    board = RedisLeaderboard(many, KEY, None)
    assert board.get_distribution(5) == []
    board.submit_many([{"user_id": f"p{n}", "score": n} for n in range(100)])
    bins = board.get_distribution(10)
    assert [one["count"] for one in bins] == [10] * 10
    assert (bins[0]["low"], bins[-1]["high"]) == (0.0, 99.0)
    board.submit_many([{"user_id": f"p{n}", "score": 7} for n in range(100)])
    assert board.get_distribution(10) == [{"low": 7.0, "high": 7.0, "count": 100}]
    board.upsert_user("low", -1.7e308)
    board.upsert_user("high", 1.7e308)
    assert [one["count"] for one in board.get_distribution(3)] == [1, 100, 1]


@pytest.mark.parametrize("ties", ["member", "earliest"])
@pytest.mark.parametrize("ranking", ["ordinal", "dense"])
@pytest.mark.parametrize("order", ["desc", "asc"])
def test_a_union_of_boards(many, ties, ranking, order):
    rules = {"ties": ties, "ranking": ranking, "order": order}
    one = RedisLeaderboard(many, f"{KEY}:one", None, **rules)
    two = RedisLeaderboard(many, f"{KEY}:two", None, ties=ties)
    one.submit_many([{"user_id": f"p{n}", "score": n, "metadata": {"n": str(n)}} for n in range(6)])
    two.submit_many([{"user_id": f"p{n}", "score": 10 - n} for n in range(3, 9)])
    two.hide("p8")
    first = {f"p{n}": float(n) for n in range(6)}
    second = {f"p{n}": float(10 - n) for n in range(3, 8)}
    best = max if order == "desc" else min
    expected = {
        "sum": {p: first.get(p, 0) + second.get(p, 0) for p in first | second},
        "best": {p: best(s[p] for s in (first, second) if p in s) for p in first | second},
        "last": first | second,
    }
    for how, scores in expected.items():
        union = one.union([two], how, ttl=30)
        entries = union.list_all()
        assert {entry["user_id"]: entry["score"] for entry in entries} == scores
        distinct = sorted(set(scores.values()), reverse=order == "desc")
        if ranking == "dense":
            assert [e["rank"] for e in entries] == [distinct.index(e["score"]) + 1 for e in entries]
        assert entries[0]["metadata"] == one.get_user_metadata(entries[0]["user_id"])
        assert union.get_rank(entries[2]["user_id"]) == entries[2]["rank"]
        assert 0 < many.ttl(union.entries_key) <= 30
    left = [name for name in many.scan_iter() if b":building:" in name]
    assert left == []


def test_a_large_union_is_built_in_portions(redis_client, monkeypatch):
    monkeypatch.setattr("leaderboard.engine.unions.MERGED_PER_CALL", 100)
    one = RedisLeaderboard(redis_client, f"{KEY}:one", None, ties="earliest", ranking="dense")
    two = RedisLeaderboard(redis_client, f"{KEY}:two", None, ties="earliest")
    for board in (one, two):
        board.load({"user_id": f"p{number}", "score": number} for number in range(350))
    union = one.union([two])
    assert union.get_size() == 350
    best = {"rank": 1, "user_id": "p349", "score": 698.0, "metadata": {}}
    assert union.get_user_entry("p349") == best
    assert union.get_rank("p0") == 350
