"""What must follow when an account or a flag changes, whoever changed it."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.dispatch import receiver

from sessions_app import flags
from sessions_app.models import Flag


@receiver([post_save, post_delete], sender=Flag)
@receiver(m2m_changed, sender=Flag.users.through)
def publish_flags(**kwargs: Any) -> None:
    transaction.on_commit(flags.publish, robust=True)
