"""Writes that count only when a replica has them too. Imports no Django.

WAIT speaks of the connection it is sent on, so the call and WAIT go out together on one connection,
to the server that holds the keys. When no replica confirms in time the write stands on the
primary, and nobody can say whether a failover would keep it: `NotReplicatedError`, an outage to
those who asked. Asked again with the same idempotency key, it is confirmed, not counted twice.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from redis.exceptions import AskError, MovedError, ResponseError, TryAgainError
from redis.exceptions import ConnectionError as RedisConnectionError

from config.redis.cluster import AsyncCautiousCluster, CautiousCluster
from config.redis.functions import Function, is_unknown

REPLICAS = 1
TIMEOUT = 1000  # milliseconds; a replica that is well answers within one
MOST_REDIRECTS = 8


class NotReplicatedError(RedisConnectionError):
    """Written, but no replica confirmed it in time: it may or may not survive a failover."""


Commands = list[tuple[Any, ...]]
# Yields where to send (a node's address, or None for whoever holds the keys) and what.
Steps = Generator[tuple[tuple[str, int] | None, Commands], list[Any], Any]


def _steps(function: Function, keys: Sequence[Any], args: Sequence[Any]) -> Steps:
    words = function.words(keys, args)
    node, ask, load = None, False, False
    for _ in range(MOST_REDIRECTS):
        commands: Commands = [function.library.load_command] if load else []
        commands += [("ASKING",)] if ask else []
        commands += [words, ("WAIT", REPLICAS, TIMEOUT)]
        reply, confirmed = (yield node, commands)[-2:]
        if is_unknown(reply):
            load = True
        elif isinstance(reply, MovedError | TryAgainError):
            node, ask = None, False
        elif isinstance(reply, AskError):
            node, ask = (reply.host, reply.port), True
        elif isinstance(reply, Exception):
            raise reply
        elif isinstance(confirmed, ResponseError) or confirmed < REPLICAS:
            raise NotReplicatedError("No replica has confirmed the write.")
        else:
            return reply
    raise RedisConnectionError("The keys are moving between nodes.")


def call(function: Function, client: Any, keys: Sequence[Any], args: Sequence[Any] = ()) -> Any:
    """Call a function that writes; return its reply once a replica has what it wrote."""
    steps = _steps(function, keys, args)
    sent: list[Any] | None = None
    try:
        while True:
            node, commands = next(steps) if sent is None else steps.send(sent)
            server = client
            if isinstance(client, CautiousCluster):
                if sent is not None and node is None:
                    client.look_again()
                server = client.client_for(keys[0]) if node is None else client.client_at(*node)
            sent = _pipeline(server, commands).execute(raise_on_error=False)
    except StopIteration as end:
        return end.value


async def acall(
    function: Function, client: Any, keys: Sequence[Any], args: Sequence[Any] = ()
) -> Any:
    """The asynchronous twin."""
    steps = _steps(function, keys, args)
    sent: list[Any] | None = None
    try:
        while True:
            node, commands = next(steps) if sent is None else steps.send(sent)
            server = client
            if isinstance(client, AsyncCautiousCluster):
                if sent is not None and node is None:
                    await client.look_again()
                if node is None:
                    server = await client.client_for(keys[0])
                else:
                    server = client.client_at(*node)
            sent = await _pipeline(server, commands).execute(raise_on_error=False)
    except StopIteration as end:
        return end.value


def _pipeline(server: Any, commands: Commands) -> Any:
    pipeline = server.pipeline(transaction=False)
    for words in commands:
        pipeline.execute_command(*words)
    return pipeline
