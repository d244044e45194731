"""Ranks of the sample's history are those that the board had at that moment."""

from __future__ import annotations

import random

import pytest

from leaderboard.log.replay import Ranking, Replay, standings
from leaderboard.sample.ranks import Ranks


@pytest.mark.parametrize("places", ["ordinal", "competition", "dense"])
@pytest.mark.parametrize("ties", ["earliest", "latest", "member"])
@pytest.mark.parametrize("subscore", [None, "asc"])
@pytest.mark.parametrize("order", ["desc", "asc"])
def test_each_rank_is_the_one_of_that_moment(
    order: str, subscore: str | None, ties: str, places: str
) -> None:
    chance = random.Random(f"{order}{subscore}{ties}{places}")
    ranking = Ranking(order, ties, places, subscore)
    replay, ranks = Replay(order, subscore), Ranks(ranking)
    for number in range(150):
        player = f"p{chance.randint(1, 25)}"
        second = float(chance.randint(1, 3)) if subscore else None
        replay.score(player, "set", float(chance.randint(1, 8)), second, number, number)
        found = ranks.rank(player, replay.entries[player])
        expected = {one: rank for _, rank, one, _ in standings(replay.entries, ranking)}
        assert found == expected[player]
