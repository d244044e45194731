"""Pages that go on from a position: nobody who did not move is seen twice or missed."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leaderboard import RedisLeaderboard

PLAYERS = [f"p{number}" for number in range(8)] + ["é", "p 1", "ÿ"]
SCORES = st.sampled_from([0.0, 1.0, 1.5, -2.0, 1e300])
ROWS = st.tuples(st.sampled_from(PLAYERS), SCORES, st.sampled_from([None, 0.0, 3.0]))
CHANGES = st.one_of(ROWS, st.sampled_from(PLAYERS))  # a score, or somebody who is removed


def page_by_page(read, change, changes, limit):
    """Ids in the order in which they are read, with a change after each page."""
    seen, start, changes = [], 0, iter(changes)
    while start is not None:
        found = read(offset=start, count=limit)
        seen += [entry["user_id"] for entry in found["entries"]]
        start = found["next"]
        change(next(changes, None))
    return seen


@pytest.mark.parametrize("what", ["board", "range", "group"])
@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    rows=st.lists(ROWS, min_size=3, max_size=14),
    changes=st.lists(CHANGES, max_size=8),
    limit=st.integers(1, 3),
    order=st.sampled_from(["desc", "asc"]),
    ties=st.sampled_from(["earliest", "latest", "member"]),
    ranking=st.sampled_from(["ordinal", "competition", "dense"]),
    subscore=st.sampled_from([None, "asc", "desc"]),
)
def test_who_did_not_move_is_seen_once(
    client, what, rows, changes, limit, order, ties, ranking, subscore
):
    client.flushdb()
    rules = {"order": order, "ties": ties, "ranking": ranking, "subscore": subscore}
    board = RedisLeaderboard(client, "leaderboard:{x}", None, groups=("team",), **rules)
    reads = {
        "board": lambda **at: board.get_range_page(None, None, **at),
        "range": lambda **at: board.get_range_page(-1e9, 1e9, **at),
        "group": lambda **at: board.get_group("team", "red", **at),
    }

    def put(player, score, second):
        second = second if subscore else None
        board.submit(player, score, subscore=second, metadata={"team": "red"})

    def change(one):
        if isinstance(one, str):
            board.delete_user(one)
        elif one is not None:
            moved.add(one[0])
            put(*one)

    for row in rows:
        put(*row)
    moved = {one for one in changes if isinstance(one, str)}
    before = [entry["user_id"] for entry in reads[what](offset=0, count=100)["entries"]]
    seen = page_by_page(reads[what], change, changes, limit)
    # A score that was given again as it was moves nobody, but need not be told apart here.
    still = [player for player in before if player not in moved]
    assert [player for player in seen if player in still] == still


@pytest.mark.parametrize("order", ["desc", "asc"])
@pytest.mark.parametrize("ties", ["earliest", "member"])
def test_ranks_go_on_where_the_last_page_ended(client, order, ties):
    board = RedisLeaderboard(client, "leaderboard:{x}", None, order=order, ties=ties)
    board.submit_many([{"user_id": f"p{number}", "score": number % 3} for number in range(10)])
    ranks, start = [], 0
    while start is not None:
        page = board.get_range_page(0, 2, offset=start, count=4)
        ranks += [entry["rank"] for entry in page["entries"]]
        start = page["next"]
    assert ranks == list(range(1, 11))
