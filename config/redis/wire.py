"""The short way to Redis: connections that stay borrowed from the client's pool.

Borrowing, telemetry and giving back are a third of what redis-py spends on a call. A limiter asks
for every request, so it keeps the few connections it needs. Imports no Django.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from config.redis.functions import Function, is_unknown

FLIGHT = 500  # calls that travel together at most


class Wire:
    """Calls functions on a plain client's server. Safe for threads and after a fork.

    As many connections as threads ever asked at once; each is the pool's own, with its options.
    """

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._idle: list[Any] = []  # last in, first out; `pop` and `append` are atomic
        self._process = os.getpid()

    @staticmethod
    def fits(client: Any) -> bool:
        """One server or a Sentinel's; a cluster chooses its connection by the key."""
        return type(client) is Redis and client.connection is None

    def run(self, function: Function, keys: list[str], arguments: tuple[Any, ...]) -> Any:
        try:
            return self.execute_command(*function.words(keys, arguments))
        except ResponseError as error:
            if not is_unknown(error):
                raise
        return function(self._client, keys, arguments)

    def execute_command(self, *command: Any) -> Any:
        """Send one command that does no harm when it runs twice; the reply as it comes."""
        if self._process != os.getpid():
            self._idle, self._process = [], os.getpid()  # the parent goes on using those
        try:
            connection = self._idle.pop()
        except IndexError:
            return self._ask(self._client.connection_pool.get_connection(), command)
        try:
            return self._ask(connection, command)
        except RedisConnectionError:
            # It was closed while idle, by a restart or a timeout of the server's. If it was not,
            # and the command did run, then one call is charged twice: that does less harm than an
            # outage for every connection after each restart.
            return self._ask(self._client.connection_pool.get_connection(), command)

    def _ask(self, connection: Any, command: tuple[Any, ...]) -> Any:
        try:
            connection.send_command(*command)
            reply = connection.read_response()
        except BaseException as error:
            if is_unknown(error):
                self._idle.append(connection)
                raise
            # An answer may still come, or the server cannot serve: begin anew next time.
            connection.disconnect()
            self._client.connection_pool.release(connection)
            raise
        self._idle.append(connection)
        return reply


class _Call:
    """One call on its way, and the answer somebody waits for."""

    __slots__ = ("answer", "command", "function")

    def __init__(self, function: Function, command: tuple[Any, ...]) -> None:
        self.function = function
        self.command = command
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def settle(self, reply: Any) -> None:
        if not self.answer.done():  # nobody waits any more
            self.answer.set_result(reply)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class AsyncWire:
    """The same for an event loop: calls that wait at the same time travel together.

    One connection. While a flight is under way, newcomers gather for the next, which leaves when
    the answers are back. Alone, a call waits for nobody; a thousand at once need no thousand
    connections.
    """

    def __init__(self, client: AsyncRedis) -> None:
        self._client = client
        self._connection: Any = None
        self._waiting: list[_Call] = []
        self._unknown: list[_Call] = []  # the server has not their function
        self._pilot: asyncio.Task[None] | None = None

    @staticmethod
    def fits(client: Any) -> bool:
        return type(client) is AsyncRedis and client.connection is None

    async def run(self, function: Function, keys: list[str], arguments: tuple[Any, ...]) -> Any:
        call = _Call(function, function.words(keys, arguments))
        self._waiting.append(call)
        if self._pilot is None:
            # A task of its own: whoever gives up waiting does not take the others down.
            self._pilot = asyncio.create_task(self._fly())
        return await call.answer

    async def _fly(self) -> None:
        flight: list[_Call] = []
        try:
            while self._waiting:
                flight, self._waiting = self._waiting[:FLIGHT], self._waiting[FLIGHT:]
                try:
                    await self._exchange(flight)
                    await self._load()
                except Exception as error:  # theirs to handle, each for itself
                    for call in flight:
                        call.fail(error)
        finally:
            self._pilot = None
            for call in (*flight, *self._waiting):  # some only when the loop is being closed
                call.answer.cancel()

    async def _exchange(self, flight: list[_Call]) -> None:
        kept = self._connection is not None
        try:
            await self._ask(flight)
        except RedisConnectionError:
            if not kept or any(call.answer.done() for call in flight):
                raise
            await self._ask(flight)  # closed while idle; see `Wire.run`

    async def _ask(self, flight: list[_Call]) -> None:
        if self._connection is None:
            pool = self._client.connection_pool
            self._connection = await pool.get_connection()  # type: ignore[no-untyped-call]
        connection = self._connection
        healthy, self._unknown = False, []
        try:
            commands = [call.command for call in flight]
            await connection.send_packed_command(connection.pack_commands(commands))
            healthy = all([await self._read(connection, call) for call in flight])
        finally:
            if not healthy:
                # An answer may still come, or the server cannot serve: begin anew next time.
                self._connection = None
                await connection.disconnect(nowait=True)
                await self._client.connection_pool.release(connection)

    async def _read(self, connection: Any, call: _Call) -> bool:
        """Whether the answer leaves no doubt about the connection."""
        try:
            call.settle(await connection.read_response())
        except ResponseError as error:
            if not is_unknown(error):
                call.fail(error)
                return False
            self._unknown.append(call)
        return True

    async def _load(self) -> None:
        """Give the server the libraries it has not, and send those calls again."""
        unknown, self._unknown = self._unknown, []
        for library in {call.function.library for call in unknown}:
            await library.aload(self._client)
        self._waiting += unknown
