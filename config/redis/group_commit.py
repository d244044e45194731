"""Group commit: what waits at the same time is flushed together, and nothing waits for company.

The first item is flushed with the next turn of the event loop, along with whatever came in the same
turn. Items that come while a flush is running are flushed together after it. Under load the batches
are full; without load each item is flushed alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")

MOST = 500  # items in one batch: a few milliseconds of the server's time


class GroupCommit(Generic[Item]):
    """`flush` gets a batch of items and returns, in the same order, the result or exception of
    each. An exception that it raises goes to every caller of the batch.

    Belongs to one event loop. At most `concurrency` flushes run at once.
    """

    def __init__(
        self,
        flush: Callable[[Sequence[Item]], Awaitable[Sequence[Any]]],
        *,
        concurrency: int = 1,
        most: int = MOST,
    ) -> None:
        self._flush = flush
        self._concurrency = concurrency
        self._most = most
        self._waiting: list[tuple[Item, asyncio.Future[Any]]] = []
        self._starting = False  # a task is about to take all items that wait
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, item: Item) -> asyncio.Future[Any]:
        """Add an item to the next batch; the future has its result."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        self._start()
        return future

    def _start(self) -> None:
        if self._waiting and not self._starting and len(self._tasks) < self._concurrency:
            self._starting = True
            # A task of its own: a caller that gives up does not take the others down.
            task = asyncio.get_running_loop().create_task(self._flush_until_empty())
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    async def _flush_until_empty(self) -> None:
        self._starting = False
        while self._waiting:
            batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            await self._flush_batch(batch)

    async def _flush_batch(self, batch: Sequence[tuple[Item, asyncio.Future[Any]]]) -> None:
        try:
            results = await self._flush([item for item, _ in batch])
        except Exception as error:
            results = [error] * len(batch)
        except BaseException:
            _cancel(batch)
            raise
        for (_, future), result in zip(batch, results, strict=True):
            if future.done():  # its caller gave up
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():  # the loop is being closed
            self._starting = False
            _cancel(self._waiting)
            self._waiting = []
        else:
            self._start()


def _cancel(batch: Sequence[tuple[Any, asyncio.Future[Any]]]) -> None:
    for _, future in batch:
        future.cancel()
