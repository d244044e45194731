"""Writes that count only when a replica has them too. Imports no Django.

WAIT is about the connection it is sent on, so the call and WAIT go out together on one connection,
to the server that holds the keys. When no replica confirms in time the write is on the primary, and
nobody can know whether a failover would keep it: `NotReplicatedError`, an outage to the caller.
Sent again with the same idempotency key, it is confirmed, not counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from redis.exceptions import AskError, MovedError, ResponseError, TryAgainError
from redis.exceptions import ConnectionError as RedisConnectionError

from config.redis.calls import Call, Steps, aperform_on, perform_on
from config.redis.cluster import AsyncCautiousCluster, CautiousCluster
from config.redis.functions import is_unknown

REPLICAS = 1
TIMEOUT = 1000  # milliseconds; a replica that is well answers within one
MOST_REDIRECTS = 8


class NotReplicatedError(RedisConnectionError):
    """Written, but no replica confirmed it in time: it may or may not survive a failover."""


class ReplicatedCall(Call):
    """A call of a function that writes; its reply comes once a replica has what it wrote."""

    __slots__ = ()

    def send(self, client: Any) -> Any:
        return perform_on(client, self._steps())

    async def asend(self, client: Any) -> Any:
        return await aperform_on(client, self._steps())

    def _steps(self) -> Steps[Any]:
        node, ask, load = None, False, False
        for attempt in range(MOST_REDIRECTS):
            commands: Commands = [self.function.library.load_command] if load else []
            commands += [("ASKING",)] if ask else []
            commands += [self.words, ("WAIT", REPLICAS, TIMEOUT)]
            step = _OnOneConnection(commands, self.keys[0], node, look_again=attempt > 0)
            reply, confirmed = (yield step)[-2:]
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


Commands = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class _OnOneConnection:
    """Commands to a node of a cluster, by default the one that holds `key`, or to the only server.
    The replies may be errors."""

    commands: Commands
    key: str
    node: tuple[str, int] | None
    look_again: bool  # who holds the key may have changed

    def send(self, client: Any) -> list[Any]:
        if isinstance(client, CautiousCluster):
            if self.node is None and self.look_again:
                client.look_again()
            client = client.client_at(*self.node) if self.node else client.client_for(self.key)
        replies: list[Any] = self._pipeline(client).execute(raise_on_error=False)
        return replies

    async def asend(self, client: Any) -> list[Any]:
        if isinstance(client, AsyncCautiousCluster):
            if self.node is None and self.look_again:
                await client.look_again()
            client = (
                client.client_at(*self.node) if self.node else await client.client_for(self.key)
            )
        replies: list[Any] = await self._pipeline(client).execute(raise_on_error=False)
        return replies

    def _pipeline(self, server: Any) -> Any:
        pipeline = server.pipeline(transaction=False)
        for words in self.commands:
            pipeline.execute_command(*words)
        return pipeline
