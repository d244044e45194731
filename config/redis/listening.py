"""Subscriptions to what Redis publishes, on one server or on a cluster.

A channel with a hash tag belongs to the keys of that tag: it is sharded, and only the node that
holds those keys receives and passes on its messages. Those of other channels reach every node.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Protocol

from redis.exceptions import ConnectionError as RedisConnectionError

from config.redis.cluster import AsyncCautiousCluster

# Listeners need not care which kind of channel it was.
_KINDS = {"smessage": "message", "ssubscribe": "subscribe", "sunsubscribe": "unsubscribe"}


class Listener(Protocol):
    """Subscriptions of one process. After an error it is spent: close it and make another."""

    async def subscribe(self, *channels: str) -> None: ...

    async def unsubscribe(self, *channels: str) -> None: ...

    async def psubscribe(self, pattern: str) -> None:
        """Subscribe to every channel without a hash tag that matches; its messages have the type
        `pmessage`. Redis knows no patterns for sharded channels."""

    async def get_message(self, timeout: float) -> dict[str, Any] | None:  # noqa: ASYNC109
        """The next message: `type` (`message`, `pmessage`, `subscribe`, `unsubscribe`), `channel`,
        `data`."""

    async def aclose(self) -> None: ...


def listener(client: Any) -> Listener:
    """A listener on the servers of `client`, an asynchronous one."""
    if isinstance(client, AsyncCautiousCluster):
        return ClusterListener(client)
    return ServerListener(client)


def is_sharded(channel: str) -> bool:
    return "{" in channel


class ServerListener:
    """On one server, or on the primary that Sentinel names."""

    def __init__(self, client: Any) -> None:
        self._pubsub = client.pubsub()

    async def subscribe(self, *channels: str) -> None:
        sharded, plain = _sorted(channels)
        if plain:
            await self._pubsub.subscribe(*plain)
        if sharded:
            await self._pubsub.ssubscribe(*sharded)

    async def unsubscribe(self, *channels: str) -> None:
        sharded, plain = _sorted(channels)
        if plain:
            await self._pubsub.unsubscribe(*plain)
        if sharded:
            await self._pubsub.sunsubscribe(*sharded)

    async def psubscribe(self, pattern: str) -> None:
        await self._pubsub.psubscribe(pattern)

    async def get_message(self, timeout: float) -> dict[str, Any] | None:  # noqa: ASYNC109
        message = await self._pubsub.get_message(timeout=timeout)
        return None if message is None else _named(message)

    async def aclose(self) -> None:
        await self._pubsub.aclose()


class ClusterListener:
    """One subscription per node that holds a channel; each is read by a task of its own."""

    def __init__(self, cluster: AsyncCautiousCluster) -> None:
        self._cluster = cluster
        self._pubsubs: dict[Any, Any] = {}  # by the node's client
        self._readers: dict[Any, asyncio.Task[None]] = {}
        self._holder: dict[str, Any] = {}  # the pubsub of each channel
        self._received: asyncio.Queue[dict[str, Any] | Exception] = asyncio.Queue()
        self._looked = False

    async def subscribe(self, *channels: str) -> None:
        for channel in channels:
            client, pubsub = await self._pubsub_for(channel)
            self._holder[channel] = pubsub
            await (pubsub.ssubscribe if is_sharded(channel) else pubsub.subscribe)(channel)
            self._read_from(client, pubsub)

    async def psubscribe(self, pattern: str) -> None:
        # Any node will do: what is published on one without a hash tag is passed to all.
        client, pubsub = await self._pubsub_for(pattern)
        await pubsub.psubscribe(pattern)
        self._read_from(client, pubsub)

    async def _pubsub_for(self, channel: str) -> tuple[Any, Any]:
        if not self._looked:
            # A new listener often follows a failure: who held what may be no longer so.
            await self._cluster.look_again()
            self._looked = True
        client = await self._cluster.client_for(channel)
        if client not in self._pubsubs:
            self._pubsubs[client] = client.pubsub()
        return client, self._pubsubs[client]

    def _read_from(self, client: Any, pubsub: Any) -> None:
        if client not in self._readers:
            self._readers[client] = asyncio.create_task(self._read(pubsub))

    async def unsubscribe(self, *channels: str) -> None:
        for channel in channels:
            pubsub = self._holder.pop(channel, None)
            if pubsub is not None:
                leave = pubsub.sunsubscribe if is_sharded(channel) else pubsub.unsubscribe
                await leave(channel)

    async def get_message(self, timeout: float) -> dict[str, Any] | None:  # noqa: ASYNC109
        try:
            received = await asyncio.wait_for(self._received.get(), timeout)
        except TimeoutError:
            return None
        if isinstance(received, Exception):
            raise received
        return received

    async def aclose(self) -> None:
        for reader in self._readers.values():
            reader.cancel()
        for pubsub in self._pubsubs.values():
            with contextlib.suppress(Exception):  # the node may be gone
                await pubsub.aclose()

    async def _read(self, pubsub: Any) -> None:
        try:
            while True:
                # None waits for ever; there is always something subscribed or on its way.
                message = await pubsub.get_message(timeout=None)
                if message is None:
                    await asyncio.sleep(0.05)  # nothing is subscribed here any more
                    continue
                message = _named(message)
                if message["type"] == "unsubscribe" and message["channel"].decode() in self._holder:
                    # We did not ask for it: the slot has moved to another node.
                    raise RedisConnectionError("A channel moved to another node.")
                self._received.put_nowait(message)
        except Exception as error:  # whatever it was, this listener is spent
            self._received.put_nowait(RedisConnectionError(str(error)))


def _sorted(channels: tuple[str, ...]) -> tuple[list[str], list[str]]:
    sharded = [channel for channel in channels if is_sharded(channel)]
    return sharded, [channel for channel in channels if not is_sharded(channel)]


def _named(message: dict[str, Any]) -> dict[str, Any]:
    return message | {"type": _KINDS.get(message["type"], message["type"])}
