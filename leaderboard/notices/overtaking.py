"""Notify players with an account who were overtaken by the scores just stored."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from leaderboard.access import rights
from leaderboard.models import Board, Player
from leaderboard.notices import delivery

if TYPE_CHECKING:
    from leaderboard.log.events import Event

# One read per mover, so at most this many per batch, the best placed first.
MOST_MOVERS = 50
# How far below a mover's new rank players are notified: further down nobody knows the name.
NEAR = 10
# A log that catches up after an outage sends no old news.
FRESH = 300  # seconds


def notify(board: Board, events: Sequence[Event]) -> None:
    """Notify each player with an account who is close behind a mover and was ahead of it."""
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
        for entry in near[places.index(mover) + 1 :]:
            # A player overtaken by one is one place lower than before.
            if previous_rank is None or entry["rank"] <= previous_rank:
                overtaken.setdefault(entry["user_id"], (mover, entry["rank"]))
    notified = rights.players_who_see(board).filter(pk__in=overtaken)
    for player_id in notified.values_list("pk", flat=True):
        mover, rank = overtaken[player_id]
        delivery.overtaken(board, player_id, by=mover, rank=rank)


def _movers(events: Sequence[Event]) -> list[tuple[str, int | None]]:
    """Players who moved up, with their rank before, the best placed first."""
    since = (time.time() - FRESH) * 1_000_000
    movers: dict[str, tuple[int, int | None]] = {}
    for event in events:
        rank, previous = event.news.rank, event.news.previous_rank
        if event.news.op != "score" or rank is None or event.news.at < since:
            continue  # a player who is shown again, or renamed, has overtaken nobody
        player_id = event.player_id
        if player_id in movers:
            previous = movers[player_id][1]  # the rank before the first of them
        if previous is None or rank < previous:
            movers[player_id] = (rank, previous)
    best = sorted(movers.items(), key=lambda item: item[1][0])[:MOST_MOVERS]
    return [(player_id, previous) for player_id, (_, previous) in best]
