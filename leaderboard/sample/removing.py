"""Remove the sample data, and nothing that somebody created."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from config import trial
from leaderboard.access import audit
from leaderboard.access.audit import Actor
from leaderboard.boards.changing import delete_board
from leaderboard.models import Board, FinalStanding, Player, ScoreEvent
from leaderboard.sample.catalogue import sample_named
from leaderboard.sample.people import ADMIN, ANIMALS, TEAMS

_AVATAR = rf"^({'|'.join(ANIMALS).lower()})-\d+$"


@dataclass(frozen=True)
class Removed:
    boards: list[str]
    players: int
    admin: bool  # whether the trial's administrator was deleted too


def sample_boards_here() -> list[Board]:
    """Boards of the catalogue that are still demos. One that somebody uses for a contest no longer
    takes scores from anybody."""
    demo = Board.objects.filter(submitters=Board.Submitters.DEMO).order_by("slug")
    return [board for board in demo if sample_named(board.slug)]


def remove_samples(*, actor: Actor) -> Removed:
    """Delete the sample boards, and the players who are on no other board."""
    boards = sample_boards_here()
    with transaction.atomic():
        # Before the boards, because their log is deleted with them and is needed here.
        players = _sample_players(boards)
        count = players.count()
        players.delete()
        for board in boards:
            delete_board(board=board, actor=actor)
        admin = _remove_admin(actor)
    return Removed([board.slug for board in boards], count, admin)


def _sample_players(boards: list[Board]) -> QuerySet[Player]:
    """Players without an account who played on these boards, or were created by the seeding and
    have lost their scores, and who are on no other board. Also the administrator's player, while
    it has the name that the seeding gave it."""
    played = Exists(ScoreEvent.objects.filter(board__in=boards, player_id=OuterRef("pk")))
    made = Q(pk__startswith="player-", team__in=TEAMS, avatar__regex=_AVATAR)
    admin = Q(pk=ADMIN.id, display_name=ADMIN.name, account__username=trial.ADMIN)
    others = Board.objects.exclude(pk__in=[board.pk for board in boards])
    events = ScoreEvent.objects.filter(board__in=others, player_id=OuterRef("pk"))
    standings = FinalStanding.objects.filter(season__board__in=others, player_id=OuterRef("pk"))
    return Player.objects.filter(
        Q(Q(played) | made, account__isnull=True) | admin, ~Exists(events), ~Exists(standings)
    )


def _remove_admin(actor: Actor) -> bool:
    """Delete the trial's administrator if its first password is still valid and there is another
    administrator."""
    users: QuerySet[User] = get_user_model().objects.filter(is_superuser=True, is_active=True)
    if not trial.valid_password() or not users.exclude(username=trial.ADMIN).exists():
        return False
    audit.record("account.delete", actor=actor, account=trial.ADMIN)
    users.filter(username=trial.ADMIN).delete()
    return True
