"""What must follow when a board changes, whoever changed it, or when staff signs somebody out."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from django.db import transaction
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.dispatch import receiver

from config.redis import OUTAGE_ERRORS, get_redis
from leaderboard import keys
from leaderboard.access import ACCESS_CHANGED
from leaderboard.models import Board
from leaderboard.selectors import people
from leaderboard.services import audit
from sessions_app.signals import devices_signed_out


@receiver([post_save, post_delete], sender=Board)
def ask_viewers_anew(instance: Board, created: bool = False, **kwargs: Any) -> None:
    """Who watches was let in by the rules of then: the open streams end and are asked again."""
    if not created:
        _tell([instance.slug])


@receiver(m2m_changed, sender=Board.members.through)
def ask_members_anew(
    instance: Any, action: str, reverse: bool, pk_set: set[int] | None, **kwargs: Any
) -> None:
    if action == "pre_clear" and reverse:
        _tell(list(instance.boards.values_list("slug", flat=True)))
    elif action in ("post_remove", "post_clear") and not reverse:
        _tell([instance.slug])
    elif action == "post_remove":
        _tell(list(Board.objects.filter(pk__in=pk_set or ()).values_list("slug", flat=True)))


@receiver(devices_signed_out)
def note_sign_out(actor: Any, user: Any, count: int, **kwargs: Any) -> None:
    audit.record(
        "devices.sign_out",
        actor=audit.Actor.of(actor),
        player_id=people.player_id_of(user) or "",
        account=user.get_username(),
        devices=count,
    )


def _tell(slugs: list[str]) -> None:
    message = json.dumps({"op": ACCESS_CHANGED})

    def publish() -> None:
        with suppress(*OUTAGE_ERRORS):
            for slug in slugs:
                get_redis().spublish(keys.live(keys.base(slug)), message)

    transaction.on_commit(publish, robust=True)
