"""Which boards there are for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import QuerySet

from leaderboard import access
from leaderboard.models import Board

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


def visible_boards(user: User | AnonymousUser | None = None) -> QuerySet[Board]:
    """What the home page lists for this person."""
    return Board.objects.filter(access.listed_for(user)).distinct()


def get_board(slug: str, user: User | AnonymousUser | None = None) -> Board:
    """The board at this address. `Board.DoesNotExist` also when it may not be seen: a private
    board and none at all look the same from outside."""
    board = Board.objects.get(slug=slug)
    if not access.may_see(user, board):
        raise Board.DoesNotExist(f"No board {slug!r}.")
    return board
