"""How many players a board keeps."""

from __future__ import annotations

from leaderboard.access import audit
from leaderboard.access.audit import Actor
from leaderboard.models import Board


def set_size_limit(*, board: Board, limit: int | None, actor: Actor) -> list[str]:
    """Change a board's size limit at once; returns the ids that it trimmed, the worst first."""
    # SQL first: a score that comes between the two is already held to the new limit.
    before, board.max_entries = board.max_entries, limit
    board.full_clean()
    board.save(update_fields=["max_entries", "updated_at"])
    trimmed = board.engine().set_max_entries(limit, source=f"user:{actor.user_id or actor.name}")
    audit.record(
        "board.limit", actor=actor, board=board, before=before, after=limit, trimmed=len(trimmed)
    )
    return trimmed
