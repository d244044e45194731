"""Making boards, and taking them away."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from config.redis import get_redis
from leaderboard.models import Board
from leaderboard.services import audit, moderation, seasons
from leaderboard.services.audit import Actor


def create_board(*, actor: Actor, **values: Any) -> Board:
    """A new board with its first season open. `ValidationError` names what is wrong."""
    board = Board(**values)
    board.full_clean()
    with transaction.atomic():
        board.save()
        audit.record("board.create", actor=actor, board=board)
    begin(board, actor)
    return board


def begin(board: Board, actor: Actor) -> None:
    """What a saved board still needs before its first score."""
    moderation.apply_everywhere_rules(board)
    seasons.open_season(board=board, actor=actor)


def delete_board(*, board: Board, actor: Actor) -> None:
    """Everything about a board, in SQL and in Redis. SQL goes first: a board that is gone from
    there takes no more scores, so nothing is written behind the cleaning."""
    key = board.key
    with transaction.atomic():
        audit.record("board.delete", actor=actor, slug=board.slug, name=board.name)
        board.delete()
    forget_keys(key)


def forget_keys(key: str) -> None:
    """Drop every key below a board's base key. A scan, in portions: an index of all keys would
    cost every write more than this costs a few times a year."""
    client = get_redis()
    client.unlink(key)
    found = []
    for name in client.scan_iter(match=f"{key}:*", count=1000):
        found.append(name)
        if len(found) == 500:
            client.unlink(*found)
            found = []
    if found:
        client.unlink(*found)
