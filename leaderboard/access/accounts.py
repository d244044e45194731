"""Accounts, with the player that each of them plays as."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User


class AccountBackend(ModelBackend):
    """Reads the player in the same query as the account: nearly every page asks for both."""

    def get_user(self, user_id: Any) -> User | None:
        user = get_user_model().objects.select_related("player").filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None
