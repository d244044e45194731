"""Which boards there are for whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import OuterRef, QuerySet, Subquery

from leaderboard.access import rights
from leaderboard.models import Board, Season

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


HOME_PAGE = 30  # boards on a page of the list


@dataclass(frozen=True)
class ListedBoards:
    """One page of the list of boards."""

    boards: list[Board]
    number: int
    last: int


def visible_boards(user: User | AnonymousUser | None = None) -> QuerySet[Board]:
    """What the home page lists for this person, each with the name of its running season."""
    return _with_season(Board.objects.filter(rights.listed_for(user)).distinct())


def listed_boards(user: User | AnonymousUser | None, page: str) -> ListedBoards:
    """The boards on this page of the home page; a page that cannot be is the first or the last."""
    boards = visible_boards(user)
    last = max(1, -(-boards.count() // HOME_PAGE))
    wanted = int(page) if page.isascii() and page.isdigit() and len(page) < 9 else 1
    number = min(max(wanted, 1), last)
    first = (number - 1) * HOME_PAGE
    return ListedBoards(list(boards[first : first + HOME_PAGE]), number, last)


def get_board(slug: str, user: User | AnonymousUser | None = None) -> Board:
    """The board at this address, with the name of its running season. `Board.DoesNotExist` also
    when it may not be seen: a private board and none at all look the same from outside."""
    board = _with_season(Board.objects.at(slug)).first()
    if board is None:
        # Whether it is anybody is asked as for a private board: the page's headers tell.
        rights.is_known(user)
    if board is None or not rights.may_see(user, board):
        raise Board.DoesNotExist(f"No board {slug!r}.")
    return board


def _with_season(boards: QuerySet[Board]) -> QuerySet[Board]:
    running = Season.objects.filter(board=OuterRef("pk"), state=Season.State.OPEN)
    return boards.annotate(
        season_name=Subquery(running.values("name")[:1]),
        season_period=Subquery(running.values("period")[:1]),
    )
