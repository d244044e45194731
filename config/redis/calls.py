"""One description of each conversation with Redis, performed by sync and async code alike.

A conversation is a generator that yields what to send and receives the reply:

    def steps():
        size = yield Command("ZCARD", key)
        return int(size)

`perform(steps())` sends through the synchronous client, `await aperform(steps())` through the
asynchronous one. The logic between the sends exists once.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from config.redis.connections import get_async_redis, get_redis
from config.redis.functions import Function, is_unknown

Result = TypeVar("Result")


class Command:
    """One plain command."""

    __slots__ = ("words",)

    def __init__(self, *words: Any) -> None:
        self.words = words

    def send(self, client: Any) -> Any:
        return client.execute_command(*self.words)

    async def asend(self, client: Any) -> Any:
        return await client.execute_command(*self.words)


class Call:
    """One function call."""

    __slots__ = ("args", "function", "keys")

    def __init__(self, function: Function, keys: Sequence[Any], args: Sequence[Any] = ()) -> None:
        self.function = function
        self.keys = keys
        self.args = args

    def send(self, client: Any) -> Any:
        return self.function(client, self.keys, self.args)

    async def asend(self, client: Any) -> Any:
        return await self.function.acall(client, self.keys, self.args)


@dataclass(frozen=True, slots=True)
class Batch:
    """Several commands and calls in one round trip (one per node on a cluster), not a transaction.

    A call of a function that the server does not know has not run, so it alone is sent again, when
    the server has the library. It then runs after the others, which matters only to who asks for
    what the same batch writes.
    """

    steps: Sequence[Command | Call]

    def _pipeline(self, client: Any) -> Any:
        pipeline = client.pipeline(transaction=False)
        for step in self.steps:
            if isinstance(step, Call):
                pipeline.execute_command(*step.function.words(step.keys, step.args))
            else:
                pipeline.execute_command(*step.words)
        return pipeline

    def send(self, client: Any) -> list[Any]:
        if not self.steps:
            return []
        replies = self._pipeline(client).execute(raise_on_error=False)
        return [
            step.send(client) if is_unknown(reply) else _answer(reply)
            for step, reply in zip(self.steps, replies, strict=True)
        ]

    async def asend(self, client: Any) -> list[Any]:
        if not self.steps:
            return []
        replies = await self._pipeline(client).execute(raise_on_error=False)
        return [
            await step.asend(client) if is_unknown(reply) else _answer(reply)
            for step, reply in zip(self.steps, replies, strict=True)
        ]


def _answer(reply: Any) -> Any:
    if isinstance(reply, Exception):
        raise reply
    return reply


Step = Command | Call | Batch
Steps = Generator[Step, Any, Result]


def perform(steps: Steps[Result], client: Any = None) -> Result:
    client = client or get_redis()
    reply = None
    try:
        while True:
            reply = steps.send(reply).send(client)
    except StopIteration as end:
        result: Result = end.value
        return result


async def aperform(steps: Steps[Result], client: Any = None) -> Result:
    client = client or get_async_redis()
    reply = None
    try:
        while True:
            reply = await steps.send(reply).asend(client)
    except StopIteration as end:
        result: Result = end.value
        return result
