"""Boards for which a duty of the worker fails, and since when. The failure is recorded here and
shown on the operations page, and the worker continues with the other boards."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from django.db import InterfaceError, OperationalError

from config.redis.connections import get_redis
from config.redis.locks import LockTakenError
from leaderboard import keys
from leaderboard.models import Board

logger = logging.getLogger("rostrum.worker")

LONGEST = 300  # characters of an error


@dataclass(frozen=True)
class Trouble:
    duty: str
    slug: str
    error: str
    since: datetime


class _Noted(msgspec.Struct):
    error: str
    since: float


class Watch:
    """Records for which boards one duty fails. Remembers them, so that a board without trouble
    costs no call of Redis."""

    def __init__(self, duty: str) -> None:
        self.duty = duty
        self._failing: dict[str, Trouble] | None = None

    @contextmanager
    def over(self, board: Board) -> Iterator[None]:
        """Record a failure inside the block, and delete the record on success. A lock held by
        somebody else is neither. If the database is down, which concerns all boards, raise."""
        try:
            yield
        except LockTakenError:
            return
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:
            self.failed(board, error)
        else:
            self.works(board)

    def failed(self, board: Board, error: Exception) -> None:
        text = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
        before = self._known().get(board.slug)
        if before is not None and before.error == text:
            return
        extra = {"board": board.slug, "duty": self.duty}
        logger.error("Failed for one board; the others continue", exc_info=error, extra=extra)
        since = before.since if before else datetime.now(UTC)
        noted = _Noted(text, since.timestamp())
        get_redis().hset(keys.troubles(), _field(self.duty, board.slug), msgspec.json.encode(noted))
        self._known()[board.slug] = Trouble(self.duty, board.slug, text, since)

    def works(self, board: Board) -> None:
        if self._known().pop(board.slug, None):
            get_redis().hdel(keys.troubles(), _field(self.duty, board.slug))
            logger.info("Works again", extra={"board": board.slug, "duty": self.duty})

    def _known(self) -> dict[str, Trouble]:
        """Read from Redis at first: another process may have recorded it, and died."""
        if self._failing is None:
            self._failing = {one.slug: one for one in read() if one.duty == self.duty}
        return self._failing


def read() -> list[Trouble]:
    """All failures, the oldest first."""
    found = []
    for field, value in get_redis().hgetall(keys.troubles()).items():
        duty, _, slug = field.decode().partition(" ")
        noted = msgspec.json.decode(value, type=_Noted)
        found.append(Trouble(duty, slug, noted.error, datetime.fromtimestamp(noted.since, UTC)))
    return sorted(found, key=lambda one: one.since)


def forget_others(slugs: Iterable[str]) -> None:
    """Delete the failures of boards that no longer exist."""
    known = set(slugs)
    gone = [_field(one.duty, one.slug) for one in read() if one.slug not in known]
    if gone:
        get_redis().hdel(keys.troubles(), *gone)


def _field(duty: str, slug: str) -> str:
    return f"{duty} {slug}"
