"""Who may do what with a board: asked here by pages, admin and API alike.

Staff act through Django's permissions. `may_see` decides for one board, `listed_for` for a list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q

from leaderboard.models import Board, Player

if TYPE_CHECKING:
    from django.contrib.auth.models import User


# The `op` of a board's live message when somebody may have lost the right to see it.
ACCESS_CHANGED = "access"


def is_staff_with(user: User | AnonymousUser | None, permission: str) -> bool:
    """Active staff who hold `leaderboard.<permission>`."""
    return bool(
        user is not None
        and user.is_active
        and user.is_staff
        and user.has_perm(f"leaderboard.{permission}")
    )


def may_see(user: User | AnonymousUser | None, board: Board) -> bool:
    """Public and unlisted: everyone. Private: members, and staff who may view boards."""
    if board.visibility != Board.Visibility.PRIVATE:
        return True
    if user is None or not user.is_authenticated:
        return False
    return is_staff_with(user, "view_board") or board.members.filter(pk=user.pk).exists()


def listed_for(user: User | AnonymousUser | None) -> Q:
    """The boards that a list may show to this person; unlisted ones only to staff."""
    if is_staff_with(user, "view_board"):
        return Q()
    listed = Q(visibility=Board.Visibility.PUBLIC)
    if user is not None and user.is_authenticated:
        listed |= Q(visibility=Board.Visibility.PRIVATE, members=user)
    return listed


def may_submit(user: User | AnonymousUser | None, board: Board, player_id: str) -> bool:
    """Whether this person may submit a score for that player through a page.

    API keys carry scopes of their own and do not ask here.
    """
    if is_staff_with(user, "moderate_board"):
        return True
    if not may_see(user, board):
        return False
    if board.submitters == Board.Submitters.DEMO:
        return True
    if board.submitters != Board.Submitters.PLAYERS or user is None or not user.is_authenticated:
        return False
    player = getattr(user, "player", None)
    return player is not None and player.id == player_id


def may_submit_own(user: User | AnonymousUser | None, board: Board) -> bool:
    """Whether a page offers this person to submit a score; the player may not exist yet."""
    return (
        user is not None
        and user.is_authenticated
        and board.submitters in {Board.Submitters.PLAYERS, Board.Submitters.DEMO}
        and may_see(user, board)
    )


def may_use_console(user: User | AnonymousUser | None, board: Board) -> bool:
    """Staff who moderate, and anyone on a demo board."""
    if is_staff_with(user, "moderate_board"):
        return True
    return board.submitters == Board.Submitters.DEMO and may_see(user, board)


def hides_presence(user: User) -> bool:
    """Whoever is anonymous or opted out on the boards is not named as being online either."""
    hiding = Player.objects.filter(account=user).exclude(privacy=Player.Privacy.SHOWN)
    return hiding.exists()
