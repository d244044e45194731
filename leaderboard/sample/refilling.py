"""A demo board's running season, filled anew through the front door."""

from __future__ import annotations

import random
from itertools import islice

from leaderboard.engine import Submission
from leaderboard.models import Board
from leaderboard.sample.catalogue import CATALOGUE
from leaderboard.sample.people import people
from leaderboard.services import audit, scores
from leaderboard.services.audit import Actor

PLAYERS = 50


def refill(*, board: Board, actor: Actor, seed: int = 1) -> int:
    """Empty the running season and give it fresh sample scores; past seasons stay."""
    chance = random.Random(f"{seed}:{board.slug}")  # noqa: S311 sample scores, the same for the same seed
    draw = next((sample.draw for sample in CATALOGUE if sample.slug == board.slug), _plain)
    board.engine().clear(source="console")
    rows = [
        Submission(person.id, draw(chance, chance.betavariate(2.0, 3.0)), metadata=person.details)
        for person in islice(people(PLAYERS, seed), PLAYERS)
    ]
    scores.submit_scores(board=board, rows=rows)
    audit.record("board.refill", actor=actor, board=board, players=len(rows))
    return len(rows)


def _plain(chance: random.Random, skill: float) -> float:
    return float(round(1000 * skill + chance.random() * 100))
