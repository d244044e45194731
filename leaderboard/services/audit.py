"""The trail of who did what, written together with the deed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leaderboard.models import AuditEntry, Board

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@dataclass(frozen=True)
class Actor:
    """Who asks: an account, or a name for an API key, a command or the worker."""

    name: str
    user_id: int | None = None

    @classmethod
    def of(cls, user: User) -> Actor:
        return cls(user.get_username(), user.pk)


COMMAND = Actor("manage.py")
WORKER = Actor("worker")


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
