"""Context of every page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from config.redis.connections import OUTAGE_ERRORS
from leaderboard.access import people
from leaderboard.notices import delivery


def unread_notices(request: HttpRequest) -> dict[str, Any]:
    """The number of unread notices, counted only if a page shows it. Without Redis it is 0."""

    def count() -> int:
        user = getattr(request, "user", None)
        try:
            player_id = people.player_id_of(user) if user is not None else None
            return delivery.unread_count(player_id) if player_id else 0
        except OUTAGE_ERRORS:
            return 0

    return {"unread_notices": SimpleLazyObject(count)}
