"""Effects of changes of accounts and flags, however they are made."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.db import transaction
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.dispatch import Signal, receiver
from django.http import HttpRequest

from sessions_app import devices, flags, names, presence
from sessions_app.models import Flag, NameLook

# Staff signed out `count` devices of `user`; sent by the admin with `actor`, the member of staff.
devices_signed_out = Signal()


@receiver(post_save, sender=get_user_model())
def sign_out_after_change(instance: AbstractBaseUser, created: bool, **kwargs: Any) -> None:
    """A new password signs out all other devices, a closed account all of them."""
    if created:
        return
    # Set by `set_password` until the end of `save`; a stronger hash of the same password is not
    # a change, and Django clears it then.
    password_changed = instance._password is not None  # type: ignore[attr-defined]
    if not instance.is_active:
        transaction.on_commit(lambda: _sign_out(instance.pk, keep_current=False))
    elif password_changed:
        transaction.on_commit(lambda: _sign_out(instance.pk, keep_current=True))


@receiver(post_save, sender=get_user_model())
def note_look(instance: User, update_fields: frozenset[str] | None = None, **kwargs: Any) -> None:
    """Stored for the check of names that others choose later."""
    if update_fields is not None and "username" not in update_fields:
        return
    looks = names.looks_of(instance.get_username())
    known = NameLook.objects.filter(user=instance.pk)
    if set(known.values_list("look", flat=True)) != looks:
        known.delete()
        NameLook.objects.bulk_create(NameLook(user_id=instance.pk, look=look) for look in looks)


@receiver(post_delete, sender=get_user_model())
def sign_out_after_removal(instance: AbstractBaseUser, **kwargs: Any) -> None:
    user_id = instance.pk  # gone from the instance by the time of the commit

    def follow() -> None:
        _sign_out(user_id, keep_current=False)
        presence.forget(user_id)

    transaction.on_commit(follow)


def _sign_out(user_id: Any, *, keep_current: bool) -> None:
    # Read only now: a rotation since then has given the session another digest.
    session = devices.current_session.get() if keep_current else None
    devices.sign_out_all(user_id, keep=session.digest if session else "")


@receiver(user_logged_in)
def count_once(request: HttpRequest | None, **kwargs: Any) -> None:
    """A user who signs in was counted as a visitor until now."""
    if request is not None:
        presence.sign_in(request)


@receiver([post_save, post_delete], sender=Flag)
@receiver(m2m_changed, sender=Flag.users.through)
def publish_flags(**kwargs: Any) -> None:
    transaction.on_commit(flags.publish, robust=True)
