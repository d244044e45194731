"""SQL queries from the event loop, on the one thread that Django uses outside of requests.

Django gives a connection back when a request ends. Here there is no request: without the code
below, a connection that broke would stay with the thread and fail for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Generic, ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import OperationalError, connections

from config.web.outages import SQL_ERRORS

# Seconds without queries after a failure. Those that queued up meanwhile fail at once, instead of
# waiting for a connection one after the other.
PAUSE = 0.5

P = ParamSpec("P")
T = TypeVar("T")
_away_until = 0.0


async def ask_sql(question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `question` on that thread, and give its connection back."""
    return await sync_to_async(_ask)(question, *args, **kwargs)


class Shared(Generic[T]):
    """Concurrent callers that need the same answer share one query. Belongs to one event loop."""

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
        # A caller that gives up waiting does not cancel the others' query.
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
        if not connection.in_atomic_block:  # a transaction around it belongs to the caller
            connection.close_if_unusable_or_obsolete()
