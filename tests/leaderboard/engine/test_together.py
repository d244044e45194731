"""Rows that are written together leave what the same rows one by one would leave."""

import random

import pytest

from leaderboard import RedisLeaderboard

TEAMS = ["red", "blue", "green", ""]
BATCHES, ROWS, PLAYERS = 12, 25, 40


def made_batches(chance, subscore):
    """Some players twice in a batch; teams change, and some rows have no details at all."""
    for _ in range(BATCHES):
        batch = []
        for _ in range(ROWS):
            row = {
                "user_id": f"p{chance.randrange(PLAYERS)}",
                "score": chance.randrange(8),
                "operator": chance.choice(["set", "best", "sum"]),
            }
            if subscore and chance.random() < 0.7:
                row["subscore"] = chance.randrange(3)
            if chance.random() < 0.6:
                row["metadata"] = {"team": chance.choice(TEAMS), "country": chance.choice("AB")}
            batch.append(row)
        yield batch


def standing(board):
    views = [board, *(board.window(name) for name in board.rules.windows)]
    return [
        (
            [entry | {"at": None, "counter": None} for entry in view.scan()],
            [
                view.get_group(field, value)
                for field, values in (("team", TEAMS[:3]), ("country", "AB"))
                for value in values
            ],
        )
        for view in views
    ]


@pytest.mark.parametrize(
    "rules",
    [
        {"ties": "earliest"},
        {"ties": "member", "order": "asc"},
        {"ties": "latest", "ranking": "competition", "subscore": "asc"},
        {"ties": "earliest", "ranking": "dense", "subscore": "desc"},
    ],
    ids=lambda rules: "-".join(rules.values()),
)
def test_groups_and_ranks_are_those_of_single_rows(client, rules):
    rules = {"groups": ("team", "country"), "windows": ("day", "all"), "events": True} | rules
    together = RedisLeaderboard(client, "leaderboard:{together}", None, **rules)
    singly = RedisLeaderboard(client, "leaderboard:{singly}", None, **rules)
    for batch in made_batches(random.Random(7), rules.get("subscore")):
        many = together.submit_many(batch)
        one_by_one = [singly.submit(**row) for row in batch]
        assert [one["score"] for one in many] == [one["score"] for one in one_by_one]
        hidden = batch[0]["user_id"]
        for board in (together, singly):
            board.hide(hidden)
            if hidden != batch[1]["user_id"]:
                board.unhide(batch[1]["user_id"])
        assert standing(together) == standing(singly)
    # Nothing is left beside the entries for anybody who is not there.
    for suffix in (":by:team", ":by:country", ":ranks", ":by:team:ranks", ":at"):
        command = "hlen" if suffix == ":at" else "zcard"
        sizes = {
            getattr(client, command)(board.entries_key + suffix) for board in (together, singly)
        }
        assert len(sizes) == 1
    assert client.xlen(f"{together.key}:events") == client.xlen(f"{singly.key}:events")


def test_keys_beside_a_window_that_a_batch_brings_to_life_expire_with_it(client):
    board = RedisLeaderboard(
        client, "leaderboard:{fresh}", None, ties="earliest", windows=("day",), groups=("team",)
    )
    board.submit_many(
        [{"user_id": f"p{n}", "score": n, "metadata": {"team": "red"}} for n in range(3)]
    )
    entries = board.window("day").entries_key
    moments = {client.pexpiretime(entries + suffix) for suffix in ("", ":at", ":by:team")}
    assert len(moments) == 1
    assert moments.pop() > 0
