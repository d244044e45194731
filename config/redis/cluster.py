"""redis-py's cluster clients, but they never send again what may have run.

Theirs repeat a command after a timeout or a lost connection, and a second INCR would be a wrong
score. These repeat only what a node refused to take: it is down, it was never reached, or its
slots are moving to another. After every failure they ask again which node holds what.

Pipelines keep redis-py's own repetition: what Rostrum sends through them on a cluster (presence,
visitors, gauges, reads) comes out the same twice.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import redis
import redis.asyncio
from redis._parsers import AsyncCommandsParser
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import ClusterDownError, RedisClusterException, SlotNotCoveredError
from redis.retry import Retry
from redis.utils import str_if_bytes

from config.redis import protocol

RETRIES = 2


class NotSentError(redis.exceptions.ConnectionError):
    """A node could not be reached at all, so nothing ran there."""


class ClusterAwayError(redis.exceptions.ConnectionError):
    """No node of the cluster answers."""


_SAFE = (NotSentError, ClusterDownError, SlotNotCoveredError)


def cannot_have_run(error: BaseException) -> bool:
    """Whether the command never reached a server that could have run it."""
    if isinstance(error, redis.exceptions.BusyLoadingError):
        return True
    cause = error.__cause__ or error.__context__
    return isinstance(cause, ConnectionRefusedError | FileNotFoundError)


def _translated(error: BaseException) -> Exception | None:
    """The error to raise in place of redis-py's, if any."""
    if isinstance(error, redis.exceptions.ConnectionError) and cannot_have_run(error):
        return NotSentError(str(error))
    # Raised from the last node's error when no node answers; without a cause it is a mistake of
    # the caller's, such as keys of two slots in one call.
    if type(error) is RedisClusterException and error.__cause__ is not None:
        return ClusterAwayError(str(error))
    return None


class CautiousCluster(redis.cluster.RedisCluster):
    ERRORS_ALLOW_RETRY = _SAFE  # type: ignore[assignment]

    def __init__(self, *, retry: Any, **options: Any) -> None:
        self._plain_options = {"retry": retry} | options
        self._plain_options.pop("startup_nodes")
        self._plain: dict[tuple[str, int], redis.Redis] = {}
        try:
            super().__init__(retry=Retry(NoBackoff(), RETRIES), **options)
        except RedisClusterException as error:
            raise _translated(error) or error from error
        know_keys(self)

    def on_connect(self, connection: Any) -> None:
        connection._parser.parse_error = protocol.Parser.parse_error
        super().on_connect(connection)  # type: ignore[no-untyped-call]

    def _execute_command(self, target_node: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return super()._execute_command(target_node, *args, **kwargs)  # type: ignore[no-untyped-call]
        except (redis.exceptions.ConnectionError, RedisClusterException) as error:
            raise _translated(error) or error from error

    def client_for(self, key: str) -> redis.Redis:
        """A plain client of the node that holds this key, kept for the next time."""
        node = self.get_node_from_key(key)  # type: ignore[no-untyped-call]
        return self.client_at(*_address(node))

    def client_at(self, host: str, port: int) -> redis.Redis:
        if (host, port) not in self._plain:
            client = redis.Redis(host=host, port=port, **self._plain_options)
            protocol.use_on(client.connection_pool)
            self._plain[host, port] = client
        return self._plain[host, port]

    def look_again(self) -> None:
        """Ask the cluster who holds what."""
        try:
            self.nodes_manager.initialize()
        except RedisClusterException as error:
            raise _translated(error) or error from error


class AsyncCautiousCluster(redis.asyncio.cluster.RedisCluster):
    """The asynchronous twin."""

    ERRORS_ALLOW_RETRY = _SAFE  # type: ignore[assignment]

    def __init__(self, *, retry: Any, **options: Any) -> None:
        self._plain_options = {"retry": retry} | options
        self._plain_options.pop("startup_nodes")
        self._plain: dict[tuple[str, int], redis.asyncio.Redis] = {}
        super().__init__(retry=AsyncRetry(NoBackoff(), RETRIES), **options)
        for node in self.startup_nodes:
            protocol.use_on(node)
        # Those that are found later are made with these.
        self.connection_kwargs["connection_class"] = node.connection_class
        know_keys(self)

    async def initialize(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return await super().initialize(*args, **kwargs)
        except RedisClusterException as error:
            raise _translated(error) or error from error

    async def _execute_command(self, target_node: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return await super()._execute_command(target_node, *args, **kwargs)
        except redis.exceptions.ConnectionError as error:
            raise _translated(error) or error from error

    async def client_for(self, key: str) -> redis.asyncio.Redis:
        await self.initialize()
        node = self.get_node_from_key(key)
        return self.client_at(*_address(node))

    def client_at(self, host: str, port: int) -> redis.asyncio.Redis:
        if (host, port) not in self._plain:
            client = redis.asyncio.Redis(host=host, port=port, **self._plain_options)
            protocol.use_on(client.connection_pool)
            self._plain[host, port] = client
        return self._plain[host, port]

    async def look_again(self) -> None:
        self._initialize = True
        await self.initialize()

    async def close_all(self) -> None:
        """`aclose`, which redis-py itself calls to start again, and the plain clients too."""
        for client in self._plain.values():
            await client.aclose()
        await self.aclose()


def know_keys(client: Any) -> None:
    """Let a cluster's client, and every pipeline of it, find the keys of a function call by itself.

    redis-py asks its default node for the keys of such commands: a round trip each time. And it
    keeps asking a node that is dead, even when another has its slots, as long as nothing else
    fails. Other clients than a cluster's need nothing.
    """
    if isinstance(client, redis.cluster.RedisCluster):
        ask = client.commands_parser.get_keys
        if not isinstance(ask, partial):
            client.commands_parser.get_keys = partial(_keys_of, client, ask)  # type: ignore[method-assign]
    elif isinstance(client, redis.asyncio.cluster.RedisCluster):
        client.commands_parser = _Parser(client.commands_parser)


def _keys_of(client: Any, ask: Any, connection: Any, *args: Any) -> Any:
    if (known := _keys_in(args)) is not None:
        return known
    try:
        return ask(connection, *args)
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
        if isinstance(client, CautiousCluster):
            client.look_again()
        raise


class _Parser(AsyncCommandsParser):
    """The same for an asynchronous client."""

    def __init__(self, before: AsyncCommandsParser) -> None:
        super().__init__()
        self.commands = before.commands
        if hasattr(before, "node"):
            self.node = before.node

    async def get_keys(self, *args: Any) -> Any:
        known = _keys_in(args)
        return await super().get_keys(*args) if known is None else known


def _keys_in(args: tuple[Any, ...]) -> list[Any] | None:
    """The keys of a function or script call or of a stream's reader; None for other commands."""
    name = str_if_bytes(args[0]).upper()
    if name in {"FCALL", "FCALL_RO", "EVAL", "EVALSHA"}:
        return list(args[3 : 3 + int(args[2])])
    if name == "XREADGROUP":
        # After group and reader come options with numbers, STREAMS, the keys, an id for each key.
        options = [str(str_if_bytes(word)).upper() for word in args[4:]]
        streams = args[5 + options.index("STREAMS") :]
        return list(streams[: len(streams) // 2])
    return None


def _address(node: Any) -> tuple[str, int]:
    return str(node.host), int(node.port)
