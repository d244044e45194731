"""How a synchronous board calls a function: once, on a connection that it keeps.

redis-py's own way sends a command again after a lost connection or a timeout, if the client was
not told otherwise. That is right for reads and wrong for points: the first attempt may have
counted. What cannot have run is still sent again: connecting is the pool's work, with the pool's
retries, and a connection that was closed while idle is noticed before anything is sent on it.

Borrowing a connection, giving it back and telling observers of both is a third of what redis-py
spends on a call. So a few connections stay borrowed from the client's pool, which goes on owning
them: closing the client closes them too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from hiredis import pack_command
from redis import BlockingConnectionPool, Redis
from redis.exceptions import BusyLoadingError, RedisError, ResponseError

from config.redis.functions import Function, is_unknown

# Of a pool's connections at most a quarter are kept from other users of the pool. Whoever waits at
# a blocking pool waits for one that is given back: there, none is kept.
KEPT_SHARE = 4
# Seconds in which a connection that has just answered is taken to be alive: asking the system is a
# twentieth of a call, and a server may die between asking and sending just as well.
FRESH = 0.001


class _Kept:
    """The connections kept of one pool; a child process begins without any."""

    __slots__ = ("idle", "most", "process")

    def __init__(self, pool: Any) -> None:
        blocking = isinstance(pool, BlockingConnectionPool)
        self.most = 0 if blocking else pool.max_connections // KEPT_SHARE
        # Connections, and when each was used; last in, first out. `pop` and `append` are atomic.
        self.idle: list[tuple[Any, float]] = []
        self.process = os.getpid()

    def take(self) -> Any:
        """A connection on which nothing waits to be read, or None."""
        if self.process != os.getpid():
            self.idle, self.process = [], os.getpid()  # the parent goes on using those
        try:
            connection, used = self.idle.pop()
        except IndexError:
            return None
        if time.monotonic() - used < FRESH:
            return connection
        try:
            silent = not connection.can_read()
        except (RedisError, OSError):
            silent = False
        if not silent:
            connection.disconnect()
        return connection


_kept: WeakKeyDictionary[Any, _Kept] = WeakKeyDictionary()


def send(client: Any, function: Function, keys: Sequence[str], args: Sequence[Any]) -> Any:
    """The function's reply. Clusters and single-connection clients send in their own way."""
    if type(client) is not Redis or client.connection is not None:
        return function(client, keys, args)
    pool = client.connection_pool
    kept = _kept.get(pool)
    if kept is None:
        kept = _kept.setdefault(pool, _Kept(pool))
    connection = kept.take() or pool.get_connection()
    keep = False
    try:
        command = pack_command((function.command, function.full_name, len(keys), *keys, *args))
        connection.send_packed_command((command,))
        reply = connection.read_response()
        keep = len(kept.idle) < kept.most
        return reply
    except BusyLoadingError:
        pass  # it has not run
    except ResponseError as error:
        if not is_unknown(error):
            raise
    except BaseException:
        connection.disconnect()  # an answer may still come, and must not meet the next question
        raise
    finally:
        if keep:
            kept.idle.append((connection, time.monotonic()))
        else:
            pool.release(connection)
    return function(client, keys, args)
