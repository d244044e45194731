"""Who was overtaken by the scores just stored, and has an account to be told."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from leaderboard.access import rights
from leaderboard.models import Board, Player
from leaderboard.notices import delivery

if TYPE_CHECKING:
    from leaderboard.log.events import Event

# One look per mover, so at most this many per batch, the best placed first.
MOST_MOVERS = 50
# How far below a mover's new place players are told: further down nobody knows the name.
NEAR = 10
# A log that catches up after an outage tells no old news.
FRESH = 300  # seconds


def tell(board: Board, events: Sequence[Event]) -> None:
    """Tell each signed-in player who stands close behind a mover and stood before it."""
    movers = _movers(events)
    if not movers or not Player.objects.filter(account__isnull=False).exists():
        return
    engine = board.engine()
    overtaken: dict[str, tuple[str, int]] = {}
    for mover, previous_rank in movers:
        near = engine.get_around_user(mover, 2 * NEAR + 1)
        places = [entry["user_id"] for entry in near]
        if mover not in places:
            continue
        at = places.index(mover)
        for entry in near[at + 1 :]:
            # Whoever is overtaken by one stands one place lower than before.
            if previous_rank is None or entry["rank"] <= previous_rank:
                overtaken.setdefault(entry["user_id"], (mover, entry["rank"]))
    notified = rights.players_who_see(board).filter(pk__in=overtaken)
    for player_id in notified.values_list("pk", flat=True):
        mover, rank = overtaken[player_id]
        delivery.overtaken(board, player_id, by=mover, rank=rank)


def _movers(events: Sequence[Event]) -> list[tuple[str, int | None]]:
    """Players who moved up, with the place they had before, the best placed first."""
    since = (time.time() - FRESH) * 1_000_000
    movers: dict[str, tuple[int, int | None]] = {}
    for event in events:
        rank, previous = event.news.rank, event.news.previous_rank
        if event.news.op != "score" or rank is None or event.news.at < since:
            continue  # who is shown again, or renamed, has overtaken nobody
        player_id = event.player_id
        if player_id in movers:
            previous = movers[player_id][1]  # where the player stood before the first of them
        if previous is None or rank < previous:
            movers[player_id] = (rank, previous)
    best = sorted(movers.items(), key=lambda item: item[1][0])[:MOST_MOVERS]
    return [(player_id, previous) for player_id, (_, previous) in best]
