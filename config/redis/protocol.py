"""How the connections of our clients differ from redis-py's own: two things it has no setting for.
Other clients in the process, such as a library's, keep redis-py's behaviour. Imports no Django.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import hiredis
from redis._parsers import _AsyncHiredisParser, _HiredisParser
from redis.asyncio.connection import AbstractConnection as AsyncAbstractConnection
from redis.connection import AbstractConnection
from redis.exceptions import DataError, ResponseError


class CannotWriteError(ResponseError):
    """The server refuses writes for now: its disk is full, or too few replicas follow it."""


# redis-py has no class for these errors, and nothing but the text would tell them apart.
_ERRORS = {"MISCONF": CannotWriteError, "NOREPLICAS": CannotWriteError}


class Parser(_HiredisParser):
    EXCEPTION_CLASSES = _HiredisParser.EXCEPTION_CLASSES | _ERRORS


class AsyncParser(_AsyncHiredisParser):
    __slots__ = ()
    EXCEPTION_CLASSES = _AsyncHiredisParser.EXCEPTION_CLASSES | _ERRORS


class _Connection(AbstractConnection):
    def set_parser(self, parser_class: Any) -> None:
        super().set_parser(Parser)  # type: ignore[no-untyped-call]


class _AsyncConnection(AsyncAbstractConnection):
    __slots__ = ()

    def set_parser(self, parser_class: Any) -> None:
        super().set_parser(AsyncParser)

    def pack_command(self, *command: Any) -> list[bytes]:
        """A command as hiredis writes it, in C.

        redis-py's synchronous connections do so by themselves. Its asynchronous ones join every
        argument in Python, which for a thousand rows was half of all the work of a web process.
        """
        name, *arguments = command
        words = name.split() if isinstance(name, bytes) else name.encode().split()
        try:
            return [hiredis.pack_command((*words, *arguments))]
        except TypeError as error:
            raise DataError(*error.args) from None  # as redis-py's own


@cache
def connection_class(base: type) -> type:
    """Our variant of one of redis-py's connections: over TCP, TLS or a socket, or a Sentinel's."""
    ours = _AsyncConnection if issubclass(base, AsyncAbstractConnection) else _Connection
    return type(base.__name__, (ours, base), {})


def use_on(pool: Any) -> None:
    """Let a pool, or a node of an asynchronous cluster, make our connections from now on."""
    pool.connection_class = connection_class(pool.connection_class)
