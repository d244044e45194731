"""One description of each conversation with Redis, performed by sync and async code alike.

A conversation is a generator that yields what to send and receives the reply:

    def steps():
        size = yield Command("ZCARD", key)
        return int(size)

`perform_on(client, steps())` and its asynchronous twin `await aperform_on(client, steps())` send
through any client; `perform` and `aperform` of `config.redis.connections` through that of the
process. The logic between the sends exists once. Imports no Django.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from redis.exceptions import ResponseError

from config.redis import wire
from config.redis.functions import Function, is_unknown

Result = TypeVar("Result")


class Command:
    """One plain command. `may_repeat`: it does no harm when it runs twice."""

    __slots__ = ("may_repeat", "words")

    def __init__(self, *words: Any, may_repeat: bool = False) -> None:
        self.words = words
        self.may_repeat = may_repeat

    def send(self, client: Any) -> Any:
        return wire.send(client, self.words, self.may_repeat)

    async def asend(self, client: Any) -> Any:
        return await client.execute_command(*self.words)


class Call:
    """One function call. `may_repeat`: it does no harm when it runs twice."""

    __slots__ = ("args", "function", "keys", "may_repeat")

    def __init__(
        self,
        function: Function,
        keys: Sequence[Any],
        args: Sequence[Any] = (),
        *,
        may_repeat: bool = False,
    ) -> None:
        self.function = function
        self.keys = keys
        self.args = args
        self.may_repeat = may_repeat

    @property
    def words(self) -> tuple[Any, ...]:
        return self.function.words(self.keys, self.args)

    def send(self, client: Any) -> Any:
        try:
            words = self.function.words(self.keys, self.args)
            return wire.send(client, words, self.may_repeat)
        except ResponseError as error:
            if not is_unknown(error):
                raise
        return self.function(client, self.keys, self.args)

    async def asend(self, client: Any) -> Any:
        if isinstance(client, wire.AsyncWire):
            return await client.send(self)
        return await self.function.acall(client, self.keys, self.args)


@dataclass(frozen=True, slots=True)
class Batch:
    """Several commands and calls in one round trip (one per node on a cluster), not a transaction.

    A call of a function that the server does not know has not run, so it alone is sent again, when
    the server has the library. It then runs after the others, which matters only to a call that
    reads what the same batch writes.
    """

    steps: Sequence[Command | Call]

    def _pipeline(self, client: Any) -> Any:
        pipeline = client.pipeline(transaction=False)
        for step in self.steps:
            pipeline.execute_command(*step.words)
        return pipeline

    def send(self, client: Any) -> list[Any]:
        if len(self.steps) < 2:
            return [step.send(client) for step in self.steps]
        replies = self._pipeline(client).execute(raise_on_error=False)
        return [
            step.send(client) if is_unknown(reply) else _checked(reply)
            for step, reply in zip(self.steps, replies, strict=True)
        ]

    async def asend(self, client: Any) -> list[Any]:
        if len(self.steps) < 2:
            return [await step.asend(client) for step in self.steps]
        replies = await self._pipeline(client).execute(raise_on_error=False)
        return [
            await step.asend(client) if is_unknown(reply) else _checked(reply)
            for step, reply in zip(self.steps, replies, strict=True)
        ]


def _checked(reply: Any) -> Any:
    if isinstance(reply, Exception):
        raise reply
    return reply


class Step(Protocol):
    """What a conversation yields: a `Command`, a `Call`, a `Batch`, or whatever else can send."""

    def send(self, client: Any) -> Any: ...

    async def asend(self, client: Any) -> Any: ...


Steps = Generator[Step, Any, Result]


def perform_on(client: Any, steps: Steps[Result]) -> Result:
    reply = None
    try:
        while True:
            reply = steps.send(reply).send(client)
    except StopIteration as end:
        result: Result = end.value
        return result


async def aperform_on(client: Any, steps: Steps[Result]) -> Result:
    reply = None
    try:
        while True:
            reply = await steps.send(reply).asend(client)
    except StopIteration as end:
        result: Result = end.value
        return result
