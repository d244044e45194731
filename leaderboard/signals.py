"""Reactions to changes of boards, accounts' rights and API keys, whoever makes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_save
from django.dispatch import receiver

from config.redis.connections import OUTAGE_ERRORS, get_redis
from leaderboard import keys
from leaderboard.access import audit, people
from leaderboard.access.rights import ACCESS_CHANGED
from leaderboard.models import ApiKey, Board
from sessions_app.signals import devices_signed_out


@receiver([post_save, post_delete], sender=Board)
def recheck_viewers(instance: Board, created: bool = False, **kwargs: Any) -> None:
    """End the open streams, so that their readers are checked by the new rules."""
    if not created:
        _publish_access_change([instance.slug])


@receiver(m2m_changed, sender=Board.members.through)
def recheck_members(
    instance: Any, action: str, reverse: bool, pk_set: set[int] | None, **kwargs: Any
) -> None:
    if action == "pre_clear" and reverse:
        _publish_access_change(instance.boards.values_list("slug", flat=True))
    elif action in ("post_remove", "post_clear") and not reverse:
        _publish_access_change([instance.slug])
    elif action == "post_remove":
        boards = Board.objects.filter(pk__in=pk_set or ())
        _publish_access_change(boards.values_list("slug", flat=True))


@receiver(devices_signed_out)
def record_sign_out(actor: Any, user: Any, count: int, **kwargs: Any) -> None:
    audit.record(
        "devices.sign_out",
        actor=audit.Actor.of(actor),
        player_id=people.player_id_of(user) or "",
        account=user.get_username(),
        devices=count,
    )


@receiver(post_delete, sender=ApiKey)
def record_deleted_key(instance: ApiKey, **kwargs: Any) -> None:
    audit.record("delete_api_key", actor=audit.actor_at_hand(), **instance.described())


# Fields that decide what an account may do, besides its groups and permissions.
FLAGS = ("is_staff", "is_superuser")


@receiver(pre_save, sender=User)
def remember_flags(
    instance: Any, update_fields: frozenset[str] | None = None, **kwargs: Any
) -> None:
    """A sign-in saves only its time, and must not cost another query."""
    instance._flags_before = None
    if update_fields is None or update_fields & set(FLAGS):
        stored = User.objects.filter(pk=instance.pk).values(*FLAGS).first() if instance.pk else None
        instance._flags_before = stored or dict.fromkeys(FLAGS, False)


@receiver(post_save, sender=User)
def record_flags(instance: Any, raw: bool = False, **kwargs: Any) -> None:
    before = instance._flags_before
    if raw or before is None:
        return
    changed = {name: now for name in FLAGS if (now := getattr(instance, name)) != before[name]}
    if changed:
        actor = audit.actor_at_hand()
        audit.record("account.rights", actor=actor, account=instance.get_username(), **changed)


_CHANGES = {"post_add": "added", "post_remove": "removed", "pre_clear": "cleared"}


@receiver(m2m_changed, sender=User.groups.through)
@receiver(m2m_changed, sender=User.user_permissions.through)
@receiver(m2m_changed, sender=Group.permissions.through)
def record_rights(
    sender: Any, instance: Any, action: str, model: Any, pk_set: set[int] | None, **kwargs: Any
) -> None:
    """Works from either side: a user gets groups, or a group gets users."""
    if action not in _CHANGES or (action != "pre_clear" and not pk_set):
        return
    others = model.objects.filter(pk__in=pk_set or ())
    kind = {User: "account", Group: "group", Permission: "permission"}[type(instance)]
    data: dict[str, Any] = {
        kind: _named(instance),
        "change": _CHANGES[action],
        "to": sorted(map(_named, others)),
    }
    name = "group.rights" if sender is Group.permissions.through else "account.rights"
    audit.record(name, actor=audit.actor_at_hand(), **data)


@receiver(post_delete, sender=Group)
def record_deleted_group(instance: Group, **kwargs: Any) -> None:
    audit.record("group.delete", actor=audit.actor_at_hand(), group=instance.name)


def _named(one: User | Group | Permission) -> str:
    if isinstance(one, Permission):
        return f"{one.content_type.app_label}.{one.codename}"
    return one.get_username() if isinstance(one, User) else one.name


def _publish_access_change(slugs: Iterable[str]) -> None:
    channels = [keys.live(keys.base(slug)) for slug in slugs]

    def publish() -> None:
        with suppress(*OUTAGE_ERRORS):
            for channel in channels:
                get_redis().spublish(channel, json.dumps({"op": ACCESS_CHANGED}))

    transaction.on_commit(publish, robust=True)
