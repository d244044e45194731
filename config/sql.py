"""SQL asked from the event loop, on the one thread that outside of requests is Django's.

A request gives its connection back when it ends. Here nobody says that anything ended: without
what stands below, a connection that broke would stay with the thread, and fail, for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Generic, ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import OperationalError, connections

from config.web.outages import SQL_ERRORS

# Seconds in which nobody asks after a failure. The questions that queued up meanwhile fail at once,
# instead of each waiting for a connection after the other when SQL is long back.
PAUSE = 0.5

P = ParamSpec("P")
T = TypeVar("T")
_away_until = 0.0


async def ask_sql(question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `question` on that thread, and leave it without a connection."""
    return await sync_to_async(_ask)(question, *args, **kwargs)


class Shared(Generic[T]):
    """However many ask for the same at once, SQL is asked once. Belongs to one event loop."""

    def __init__(self) -> None:
        self._asking: dict[Hashable, asyncio.Future[T]] = {}

    async def ask(
        self, name: Hashable, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        asking = self._asking.get(name)
        if asking is None:
            asking = asyncio.ensure_future(ask_sql(question, *args, **kwargs))
            self._asking[name] = asking
            asking.add_done_callback(lambda _: self._asking.pop(name, None))
        # Whoever gives up waiting does not take the answer from the others.
        return await asyncio.shield(asking)


def _ask(question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    global _away_until
    if monotonic() < _away_until:
        raise OperationalError("SQL could not be reached a moment ago.")
    try:
        return question(*args, **kwargs)
    except SQL_ERRORS:
        _away_until = monotonic() + PAUSE
        raise
    finally:
        _give_back()


def _give_back() -> None:
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:  # a transaction around the question is its asker's
            connection.close_if_unusable_or_obsolete()


def forget() -> None:
    """Ask again at once; for tests."""
    global _away_until
    _away_until = 0.0
