"""Tickets for live streams: a browser's EventSource sends no headers, and no page may hold a key.

A server that has a key asks for a ticket and hands it to the page. It opens streams of one board
for a minute; an open stream goes on, and ends with the rights of its key.
"""

from __future__ import annotations

from django.core import signing

from leaderboard.api.errors import ApiError

LIFETIME = 60  # seconds
_SALT = "leaderboard.api.tickets"


def make(*, key_id: int, slug: str) -> str:
    return signing.dumps([key_id, slug], salt=_SALT)


def read(ticket: str, *, slug: str) -> int:
    """The id of the key behind the ticket."""
    try:
        key_id, board = signing.loads(ticket, salt=_SALT, max_age=LIFETIME)
    except signing.SignatureExpired:
        raise ApiError(401, "ticket_expired", "This ticket has expired.", field="ticket") from None
    except signing.BadSignature:
        raise ApiError(401, "ticket_unknown", "This is not a ticket.", field="ticket") from None
    if board != slug:
        raise ApiError(401, "ticket_unknown", "This ticket is for another board.", field="ticket")
    return int(key_id)
