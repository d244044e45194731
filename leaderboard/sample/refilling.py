"""Refill the running season of a demo board by ordinary submissions."""

from __future__ import annotations

import random
from itertools import chain

from leaderboard.access import audit
from leaderboard.access.audit import Actor
from leaderboard.boards import scores, size_limit
from leaderboard.engine import Submission
from leaderboard.models import Board
from leaderboard.sample.catalogue import SampleBoard, sample_named
from leaderboard.sample.people import ADMIN, PLAYERS, SEED, people
from leaderboard.sample.places import share_places
from leaderboard.sample.seeding import chance_of, first_attempts


def refill(*, board: Board, actor: Actor) -> int:
    """Replace the scores of the running season by those of the first start, and reset the size
    limit; past seasons stay. The scores count as of now, also in the windows. Return how many."""
    sample = sample_named(board.slug) or SampleBoard(  # a demo board that somebody created
        slug=board.slug, values={}, draw=_plain, attempts=1, past_seasons=0
    )
    chance = chance_of(sample.slug, SEED)
    everyone = list(chain([ADMIN], people(PLAYERS, SEED)))
    board.engine().clear(source="console")
    size_limit.set_size_limit(board=board, limit=sample.values.get("max_entries"), actor=actor)
    rows = [
        Submission(
            attempt.person.id,
            attempt.value,
            subscore=attempt.subscore if board.subscore_order else None,
            metadata=attempt.person.details,
        )
        for attempt in first_attempts(sample, everyone, chance)
    ]
    scores.submit_scores(board=board, rows=rows)
    share_places(board, everyone, chance)
    audit.record("board.refill", actor=actor, board=board, scores=len(rows))
    return len(rows)


def _plain(chance: random.Random, skill: float) -> float:
    return float(round(1000 * skill + chance.random() * 100))
