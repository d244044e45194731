"""The short way to Redis: connections that stay borrowed from the client's pool. Imports no Django.

Borrowing a connection, giving it back and telemetry are a third of what redis-py spends on a call,
so a few connections are kept. The pool still owns them: closing the client closes them too.

redis-py sends a command again after a lost connection or a timeout, if the client was not
configured otherwise: right for reads, wrong for points, because the first attempt may have
counted. Here each call names its rule. With `may_repeat` it is sent once more after a lost
connection. Without, only when it cannot have run: connecting is up to the pool, with the pool's
retries, and a connection that was closed while idle is noticed before anything is sent on it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from hiredis import pack_command
from redis import BlockingConnectionPool, Redis
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import BusyLoadingError, ReadOnlyError, RedisError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError

from config.redis.functions import is_unknown
from config.redis.group_commit import GroupCommit

if TYPE_CHECKING:
    from config.redis.calls import Call

# At most a quarter of a pool's connections are kept from its other users. A blocking pool's users
# wait for a connection to be given back: none of those is kept.
KEPT_SHARE = 4
# Seconds in which a connection that has just answered is assumed to be alive: asking the system
# takes a twentieth of a call, and a server may die between asking and sending just as well.
FRESH = 0.001


class _Kept:
    """The connections kept of one pool."""

    __slots__ = ("idle", "most")

    def __init__(self, pool: Any) -> None:
        blocking = isinstance(pool, BlockingConnectionPool)
        self.most = 0 if blocking else pool.max_connections // KEPT_SHARE
        # Connections, and when each was used; last in, first out. `pop` and `append` are atomic.
        self.idle: list[tuple[Any, float]] = []

    def take(self, checked: bool) -> Any:
        """A connection, or None. When `checked`, nothing waits to be read on it."""
        try:
            connection, used = self.idle.pop()
        except IndexError:
            return None
        if not checked or time.monotonic() - used < FRESH:
            return connection
        try:
            silent = not connection.can_read()
        except (RedisError, OSError):
            silent = False
        if not silent:
            connection.disconnect()
        return connection


_kept: WeakKeyDictionary[Any, _Kept] = WeakKeyDictionary()
os.register_at_fork(after_in_child=_kept.clear)  # the parent goes on using those


def kept_of(pool: Any) -> _Kept:
    return _kept.setdefault(pool, _Kept(pool))


def send(client: Any, words: tuple[Any, ...], may_repeat: bool = False) -> Any:
    """The reply to a command. The command's name is in capitals.

    Clusters and single-connection clients send in their own way.
    """
    if type(client) is not Redis or client.connection is not None:
        return client.execute_command(*words)
    pool = client.connection_pool
    kept = _kept.get(pool) or kept_of(pool)
    connection = kept.take(not may_repeat)
    try:
        reply = _exchange(pool, kept, connection or pool.get_connection(), words)
    except BusyLoadingError:  # it has not run
        return client.execute_command(*words)  # type: ignore[no-untyped-call]
    except RedisConnectionError:
        if connection is None or not may_repeat:
            raise
        reply = _exchange(pool, kept, pool.get_connection(), words)
    callback = dict.get(client.response_callbacks, words[0])
    return reply if callback is None else callback(reply)


def _exchange(pool: Any, kept: _Kept, connection: Any, words: tuple[Any, ...]) -> Any:
    try:
        connection.send_packed_command([pack_command(words)])
        reply = connection.read_response()
    except BaseException as error:
        # A reply may still come and must not be taken for the next one, or the server is no primary
        # any more and its successor has to be found.
        if not isinstance(error, ResponseError) or isinstance(error, ReadOnlyError):
            connection.disconnect()
        pool.release(connection)
        raise
    if len(kept.idle) < kept.most:
        kept.idle.append((connection, time.monotonic()))
    else:
        pool.release(connection)
    return reply


class AsyncWire:
    """For an event loop: calls that wait at the same time share one connection and round trip.

    A thousand calls at once need no thousand connections; a call alone waits for no other.
    """

    def __init__(self, client: AsyncRedis) -> None:
        self._client = client
        self._connection: Any = None
        self._calls: GroupCommit[Call] = GroupCommit(self._flush)

    @staticmethod
    def fits(client: Any) -> bool:
        """One server or a Sentinel's; a cluster chooses its connection by the key."""
        return type(client) is AsyncRedis and client.connection is None

    async def send(self, call: Call) -> Any:
        return await self._calls.add(call)

    async def _flush(self, calls: Sequence[Call]) -> list[Any]:
        """The reply to each call, or its error."""
        replies = await self._replies(calls)
        unknown = [number for number, reply in enumerate(replies) if is_unknown(reply)]
        if unknown:
            for library in {calls[number].function.library for number in unknown}:
                await library.aload(self._client)
            again = await self._replies([calls[number] for number in unknown])
            for number, reply in zip(unknown, again, strict=True):
                replies[number] = reply
        return replies

    async def _replies(self, calls: Sequence[Call]) -> list[Any]:
        replies: list[Any] = []
        was_idle = self._connection is not None
        try:
            await self._exchange(calls, replies)
        except RedisConnectionError as error:
            left = calls[len(replies) :]
            if was_idle and all(call.may_repeat for call in left):
                await self._exchange(left, replies)
            else:
                replies += [error] * len(left)
        return replies

    async def _exchange(self, calls: Sequence[Call], replies: list[Any]) -> None:
        """Add the reply to each call, or the server's error, to `replies`."""
        pool = self._client.connection_pool
        if self._connection is None:
            self._connection = await pool.get_connection()  # type: ignore[no-untyped-call]
        connection, reusable = self._connection, False
        try:
            await connection.send_packed_command([pack_command(call.words) for call in calls])
            for _ in calls:
                try:
                    replies.append(await connection.read_response())
                except ResponseError as error:
                    replies.append(error)
            reusable = not any(isinstance(reply, ReadOnlyError) for reply in replies)
        finally:
            if not reusable:
                self._connection = None
                await connection.disconnect(nowait=True)
                await pool.release(connection)
