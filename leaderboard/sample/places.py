"""Places that sample players share, so that "nearby" has somebody to show."""

from __future__ import annotations

import random
from collections.abc import Sequence

from leaderboard.boards import nearby
from leaderboard.models import Board
from leaderboard.sample.people import Person

SHARING = 100  # players of a board, at most
# The middle of a city in each country; the players live around it.
_CITIES = {
    "US": (40.71, -74.01),
    "DE": (52.52, 13.40),
    "BR": (-23.55, -46.63),
    "IN": (19.08, 72.88),
    "GB": (51.51, -0.13),
    "FR": (48.86, 2.35),
    "ES": (40.42, -3.70),
    "IT": (41.90, 12.50),
    "MX": (19.43, -99.13),
    "NL": (52.37, 4.90),
    "SE": (59.33, 18.07),
    "JP": (35.68, 139.69),
    "ID": (-6.21, 106.85),
    "TR": (41.01, 28.98),
    "UA": (50.45, 30.52),
    "FI": (60.17, 24.94),
    "NO": (59.91, 10.75),
    "PT": (38.72, -9.14),
}
_AROUND = 0.12  # degrees: some ten kilometres


def share_places(board: Board, people: Sequence[Person], chance: random.Random) -> None:
    """The first of these players share a place in their country."""
    for person in people[:SHARING]:
        lat, lon = _CITIES[person.country]
        nearby.share(board, person.id, chance.gauss(lat, _AROUND), chance.gauss(lon, _AROUND))
