"""The trail of who did what, written together with the action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib.auth import SESSION_KEY, get_user_model

from leaderboard.models import AuditEntry, Board
from sessions_app.devices import current_session

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


@dataclass(frozen=True)
class Actor:
    """Who asks: an account, or a name for an API key, a command or the worker."""

    name: str
    user_id: int | None = None

    @classmethod
    def of(cls, user: User | AnonymousUser) -> Actor:
        return cls(user.get_username(), user.pk)


COMMAND = Actor("manage.py")
WORKER = Actor("worker")


def actor_at_hand() -> Actor:
    """Who is signed in on the request at hand, for code that is not given it; else a command."""
    session = current_session.get()
    user_id = None if session is None else session.get(SESSION_KEY)
    user = get_user_model().objects.filter(pk=user_id).first() if user_id else None
    return COMMAND if user is None else Actor.of(user)


def record(
    action: str,
    *,
    actor: Actor,
    board: Board | None = None,
    player_id: str = "",
    reason: str = "",
    **data: Any,
) -> AuditEntry:
    return AuditEntry.objects.create(
        actor_id=actor.user_id,
        actor_name=actor.name,
        action=action,
        board=board,
        player_id=player_id,
        reason=reason,
        data=data,
    )
