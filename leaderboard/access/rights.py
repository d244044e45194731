"""Who may do what with a board: asked here by pages, admin and API alike.

Staff act through Django's permissions. `may_see` decides for one board, `listed_for` for a list.

Which players are shown is decided here too. Who is hidden or banned on a board, or has opted out,
is on none of its pages: no entry, no player page, no history; only they themselves read why. Final
standings of past seasons keep their place and score, so that nobody else's place changes, but not
the name, as they do for anonymous players. When the restriction ends, the name is back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser, Group, User
from django.db.models import F, Q, QuerySet

from leaderboard.models import Board, Player, Restriction

# The `op` of a board's live message when somebody may have lost the right to see it.
ACCESS_CHANGED = "access"

# What an account's permissions follow from; only to be compared. None: no such account.
Rights = Hashable

_AT_ONCE = 500  # accounts in one question; SQL takes a bounded number of parameters


def is_staff_with(user: User | AnonymousUser | None, permission: str) -> bool:
    """Active staff who hold `leaderboard.<permission>`."""
    return bool(
        user is not None
        and user.is_active
        and user.is_staff
        and user.has_perm(f"leaderboard.{permission}")
    )


def rights_of(user_ids: Sequence[int]) -> dict[int, Rights]:
    """For each account whether it is active, staff or superuser, its groups and permissions."""
    found: dict[int, Rights] = {}
    for start in range(0, len(user_ids), _AT_ONCE):
        found |= _rights_of(user_ids[start : start + _AT_ONCE])
    return found


def _rights_of(user_ids: Sequence[int]) -> dict[int, Rights]:
    groups = _pairs(User.groups.through, "user_id", "group_id", user_ids)
    permissions = _pairs(User.user_permissions.through, "user_id", "permission_id", user_ids)
    wanted = sorted({group for _, group in groups})
    allowed = _pairs(Group.permissions.through, "group_id", "permission_id", wanted)
    by_group, by_user = _gathered(allowed), _gathered(permissions)
    for user_id, group in groups:
        by_user[user_id].add((group, frozenset(by_group[group])))
    flags = User.objects.filter(pk__in=user_ids)
    return {
        user_id: (active, staff, superuser, frozenset(by_user[user_id]))
        for user_id, active, staff, superuser in flags.values_list(
            "pk", "is_active", "is_staff", "is_superuser"
        )
    }


def _pairs(table: Any, one: str, many: str, ids: Sequence[int]) -> list[tuple[int, int]]:
    return list(table.objects.filter(**{f"{one}__in": ids}).values_list(one, many)) if ids else []


def _gathered(pairs: list[tuple[int, int]]) -> defaultdict[int, set[Hashable]]:
    found: defaultdict[int, set[Hashable]] = defaultdict(set)
    for one, many in pairs:
        found[one].add(many)
    return found


def is_known(user: User | AnonymousUser | None) -> bool:
    return user is not None and user.is_authenticated


def may_see(user: User | AnonymousUser | None, board: Board) -> bool:
    """Public and unlisted: everyone. Private: members, and staff who may view boards."""
    if board.visibility != Board.Visibility.PRIVATE:
        return True
    if user is None or not user.is_authenticated:
        return False
    return is_staff_with(user, "view_board") or board.members.filter(pk=user.pk).exists()


def players_who_see(board: Board) -> QuerySet[Player]:
    """The players with an account that may see the board: those whom it may notify."""
    players = Player.objects.filter(account__isnull=False)
    if board.visibility != Board.Visibility.PRIVATE:
        return players
    # Staff are few, and their permissions come from groups too: each is asked.
    staff = User.objects.filter(is_staff=True, is_active=True, player__isnull=False)
    allowed = [user.pk for user in staff if is_staff_with(user, "view_board")]
    return players.filter(Q(account__in=board.members.all()) | Q(account__in=allowed))


def unseen_on(board: Board) -> QuerySet[Player]:
    """Players who are not shown on this board at all."""
    here = Q(board=board) | Q(board__isnull=True)
    restricted = Restriction.objects.active().filter(here).values("player")
    return Player.objects.filter(Q(privacy=Player.Privacy.OPTED_OUT) | Q(pk__in=restricted))


def unnamed_on(board: Board) -> QuerySet[Player]:
    """Players whom past seasons of this board do not name."""
    return unseen_on(board) | Player.objects.filter(privacy=Player.Privacy.ANONYMOUS)


def anonymous_among(player_ids: Sequence[str]) -> set[str]:
    """Those of these players who are shown without their name."""
    players = Player.objects.filter(pk__in=player_ids, privacy=Player.Privacy.ANONYMOUS)
    return set(players.values_list("pk", flat=True))


def restriction_on(board: Board, player_id: str) -> Restriction | None:
    """What holds for a player on this board; a ban weighs more than being hidden."""
    here = Q(board=board) | Q(board__isnull=True)
    found = Restriction.objects.active().filter(here, player=player_id)
    # "banned" sorts before "hidden"; of two the one that lasts longer.
    return found.order_by("kind", F("until").desc(nulls_first=True)).first()


@dataclass(frozen=True, slots=True)
class Unseen:
    """Why others do not see a player on a board: a restriction, perhaps for a time, or the
    player's own wish. The reason that staff gave is for staff: it may name who complained."""

    kind: str  # of a restriction, or `Player.Privacy.OPTED_OUT`
    until: datetime | None = None

    @property
    def is_restricted(self) -> bool:
        return self.kind != Player.Privacy.OPTED_OUT


def why_unseen(board: Board, player: Player) -> Unseen | None:
    """What a player may read about themselves; None for who is to be seen."""
    found = restriction_on(board, player.pk)
    if found is not None:
        return Unseen(found.kind, found.until)
    return Unseen(player.privacy) if player.privacy == Player.Privacy.OPTED_OUT else None


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


def may_submit_own(
    user: User | AnonymousUser | None, board: Board, unseen: Unseen | None = None
) -> bool:
    """Whether a page offers this person to submit a score; the player may not exist yet, or be
    `unseen`: who is hidden or banned is offered nothing."""
    return (
        not (unseen is not None and unseen.is_restricted)
        and user is not None
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
