"""Places that sample players share, so that "nearby" has somebody to show."""

from __future__ import annotations

import random
from collections.abc import Sequence

from leaderboard.boards import nearby
from leaderboard.models import Board
from leaderboard.sample.people import CITIES, Person

SHARING = 100  # players of a board, at most
_AROUND = 0.12  # degrees around the city: about ten kilometres


def share_places(board: Board, people: Sequence[Person], chance: random.Random) -> None:
    """Let the first of these players share a place in their country."""
    for person in people[:SHARING]:
        lat, lon = CITIES[person.country]
        nearby.share(board, person.id, chance.gauss(lat, _AROUND), chance.gauss(lon, _AROUND))
