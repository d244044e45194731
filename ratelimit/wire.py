"""The short way to Redis: connections that stay borrowed from the client's pool.

Borrowing, telemetry and giving back are a third of what redis-py spends on a call. A limiter asks
for every request, so it keeps the few connections it needs. Imports no Django.
"""

from __future__ import annotations

import os
from typing import Any

from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError

from config.scripts import Script


class Wire:
    """Runs scripts on a plain client's server. Safe for threads and after a fork.

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

    def run(self, script: Script, keys: list[str], arguments: tuple[Any, ...]) -> Any:
        command = ("EVALSHA", script.sha, len(keys), *keys, *arguments)
        if self._process != os.getpid():
            self._idle, self._process = [], os.getpid()  # the parent goes on using those
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._client.connection_pool.get_connection()
        else:
            try:
                return self._ask(connection, command)
            except NoScriptError:
                return script(self._client, keys, arguments)
            except RedisConnectionError:
                # It was closed while idle, by a restart or a timeout of the server's. If it was
                # not, and the script did run, then one call is charged twice: that does less harm
                # than an outage for every connection after each restart.
                connection = self._client.connection_pool.get_connection()
        try:
            return self._ask(connection, command)
        except NoScriptError:
            return script(self._client, keys, arguments)

    def _ask(self, connection: Any, command: tuple[Any, ...]) -> Any:
        try:
            connection.send_command(*command)
            reply = connection.read_response()
        except NoScriptError:
            self._idle.append(connection)
            raise
        except BaseException:
            # An answer may still come, or the server cannot serve: begin anew next time.
            connection.disconnect()
            self._client.connection_pool.release(connection)
            raise
        self._idle.append(connection)
        return reply
