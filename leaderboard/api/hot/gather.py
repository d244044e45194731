"""Group commit: what is already waiting goes out together, and nobody waits for company.

The first call leaves with the next turn of the event loop, along with whatever came in the same
turn. Calls that come while a flight is under way wait for it and leave together afterwards. Under
load the flights are full; without load each call flies alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")

MOST = 500  # items in one flight: a few milliseconds of the server's time


class Gather(Generic[Item]):
    """`fly` gets the items of a flight and returns, in the same order, each one's result or its
    exception. An exception that it raises is everybody's.

    Belongs to one event loop. `abreast` flights may be under way at once.
    """

    def __init__(
        self,
        fly: Callable[[Sequence[Item]], Awaitable[Sequence[Any]]],
        *,
        abreast: int = 1,
        most: int = MOST,
    ) -> None:
        self._fly = fly
        self._abreast = abreast
        self._most = most
        self._waiting: list[tuple[Item, asyncio.Future[Any]]] = []
        self._departing = False  # a flight is about to take all who wait
        self._under_way: set[asyncio.Task[None]] = set()

    def add(self, item: Item) -> asyncio.Future[Any]:
        """Take a seat; the future has the result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((item, future))
        if not self._departing and len(self._under_way) < self._abreast:
            self._departing = True
            self._under_way.add(loop.create_task(self._fly_until_empty()))
        return future

    async def _fly_until_empty(self) -> None:
        this = asyncio.current_task()
        assert this is not None
        try:
            self._departing = False
            while self._waiting:
                seats = self._waiting[: self._most]
                self._waiting = self._waiting[self._most :]
                await self._take_off(seats)
        finally:
            # In the same step as the last look at who waits: nobody is left behind between them.
            self._under_way.discard(this)

    async def _take_off(self, seats: Sequence[tuple[Item, asyncio.Future[Any]]]) -> None:
        try:
            results = await self._fly([item for item, _ in seats])
        except Exception as error:
            results = [error] * len(seats)
        for (_, future), result in zip(seats, results, strict=True):
            if future.done():  # the caller has gone
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)
