"""Outages: Redis or SQL cannot serve now. Rostrum recovers from them without a restart."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError
from django.utils.translation import gettext, gettext_noop

from config.redis.connections import OUTAGE_ERRORS
from config.redis.replication import NotReplicatedError

# SQLite raises OperationalError too when it is locked for too long.
SQL_ERRORS: tuple[type[Exception], ...] = (OperationalError, InterfaceError)
OUTAGES: tuple[type[Exception], ...] = (*OUTAGE_ERRORS, *SQL_ERRORS)


# A code for programs and a sentence for people.
_DATABASE = (
    "database_unavailable",
    gettext_noop("The database cannot be reached at the moment. Try again in a few seconds."),
)
_NOT_REPLICATED = (
    "not_replicated",
    gettext_noop(
        "The change was saved, but no replica has confirmed it. If you send it again with the "
        "same idempotency key, it counts once."
    ),
)
_REDIS = (
    "redis_unavailable",
    gettext_noop("The live data cannot be reached at the moment. Try again in a few seconds."),
)


def explained(error: BaseException | None) -> tuple[str, str]:
    """The code and the sentence of an outage."""
    if isinstance(error, SQL_ERRORS):
        code, sentence = _DATABASE
    else:
        code, sentence = _NOT_REPLICATED if isinstance(error, NotReplicatedError) else _REDIS
    return code, gettext(sentence)
