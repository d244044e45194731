"""Profiles: SQL and the rows on every board, written through in one go."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import transaction

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.access import aliases, audit, erasing, rights
from leaderboard.access.audit import Actor
from leaderboard.boards import marks, moderation, nearby
from leaderboard.models import Board, Player
from leaderboard.notices import activity
from leaderboard.seasons.history import forget_names

if TYPE_CHECKING:
    from leaderboard.log.events import Event

PROFILE_FIELDS = frozenset({"display_name", "country", "team", "avatar", "bio", "privacy"})


def update_profile(*, player: Player, **changes: Any) -> Player:
    """Change a profile and the rows on all boards at once. `ValidationError` for bad values."""
    unknown = set(changes) - PROFILE_FIELDS
    if unknown:
        raise TypeError(f"Not part of a profile: {', '.join(sorted(unknown))}")
    for name, value in changes.items():
        setattr(player, name, value)
    player.full_clean(exclude=["account"])
    player.save()
    after_change(player, named_anew="privacy" in changes)
    return player


def after_change(player: Player, *, named_anew: bool = True) -> None:
    """Once the profile is committed, show it everywhere; `named_anew` also in past seasons."""
    transaction.on_commit(partial(write_through, player))
    if named_anew:
        transaction.on_commit(forget_names)


def delete_player(*, player: Player, actor: Actor) -> None:
    """Off every board, with profile, place and restrictions. Past seasons keep place and score,
    without the name."""
    player_id = player.pk
    with transaction.atomic():
        unnamed = erasing.erase(player_id)
        audit.record(erasing.DELETED, actor=actor, player_id=player_id, unnamed_standings=unnamed)
        player.delete()
    transaction.on_commit(lambda: _forget(player_id))


def _forget(player_id: str) -> None:
    erasing.erase(player_id)  # again: a season may have been archived while this was committed
    for board in Board.objects.all():
        board.engine().delete_user(player_id, source="profile")
        get_redis().hdel(keys.marks(board.key), player_id)
        get_redis().hdel(keys.aliases(board.key), aliases.alias_of(board, player_id))
        marks.forget(board)
        nearby.forget(board, player_id)
        activity.forget_player(board, player_id)
    forget_names()


def write_through(player: Player) -> None:
    """Bring the player's row on every board in line with SQL: wherever the player has entries or
    details, whether a season is open or not."""
    boards = list(Board.objects.all())
    # First the marks, so that no submission brings the old name back.
    moderation.enforce(player.pk, boards)
    anonymous = player.privacy == Player.Privacy.ANONYMOUS
    for board in boards:
        board.engine().replace_details(
            player.pk,
            aliases.row_details(board, player),
            remove="*" if anonymous else aliases.ALIAS,
            source="profile",
        )


def mask_late(board: Board, events: Sequence[Event]) -> None:
    """Mask the rows of anonymous players that a process wrote with marks from before their choice.
    Done as the log is stored: no score pays for it, and a worker that dies gets the events again.
    """
    played = {event.player_id for event in events if event.news.op in ("score", "details")}
    anonymous = rights.anonymous_among(sorted(played))
    for player_id in sorted(anonymous):
        engine = board.engine()
        details = aliases.anonymous_details(board, player_id)
        if engine.get_user_metadata(player_id) != details:
            engine.replace_details(player_id, details, remove="*", source="profile")
