"""The only door to Redis: django-redis for synchronous code, redis.asyncio beside it.

Four connections, each with a name that CLIENT LIST shows:

| alias      | for                              | answer awaited |
|------------|----------------------------------|----------------|
| `data`     | boards, sessions, presence, …    | 5 s            |
| `limits`   | rate limits, which must not wait | 0.08 s         |
| `blocking` | XREADGROUP BLOCK in the worker   | 6 s            |
| `default`  | Django's cache, kept apart       | 1 s            |

Connecting may take 1 s, or as long as an answer where that is less. A command is sent again only
when it cannot have run (connection refused, server still loading): a second INCR would be a wrong
score.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from weakref import WeakKeyDictionary

import redis
import redis.asyncio
from django.conf import settings
from django_redis import get_redis_connection
from django_redis.client import DefaultClient
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from config.errors import ConfigurationError
from config.redis import embedded, protocol
from config.redis.calls import Result, Steps, aperform_on, perform_on
from config.redis.cluster import AsyncCautiousCluster, CautiousCluster, cannot_have_run

CONNECT_TIMEOUT = 1.0
ANSWER_TIMEOUT: dict[str, float | None] = {
    "data": 5.0,
    "limits": 0.08,  # with a retried connect on top still under a tenth of a second
    "blocking": 6.0,  # a second of waiting, and what any answer may take
    "default": 1.0,
}
# Per process and alias. The web server's threads and the event loop share a handful;
# the rest is head room for bursts, and an exhausted pool raises rather than queues.
MAX_CONNECTIONS = 200


# What an outage looks like from here; middleware turns each of these into a 503.
# ResponseErrors are answers, but these few mean that the server cannot serve now.
OUTAGE_ERRORS: tuple[type[Exception], ...] = (
    redis.exceptions.ConnectionError,
    redis.exceptions.TimeoutError,
    redis.exceptions.ReadOnlyError,
    redis.exceptions.OutOfMemoryError,
    redis.exceptions.ClusterDownError,
    redis.exceptions.MasterDownError,
    redis.exceptions.SlotNotCoveredError,
    redis.exceptions.TryAgainError,
    protocol.CannotWriteError,
)

_EXPECTED = (
    "redis://host:6379/0, rediss://host:6379/0, unix:///path/to/redis.sock?db=0, "
    "redis+sentinel://host:26379,host:26379/service/0 or redis+cluster://host:6379,host:6379"
)


@dataclass(frozen=True)
class Address:
    """Where a Redis is: one server, a Sentinel's service, or a cluster."""

    kind: str  # "single", "sentinel" or "cluster"
    url: str = ""
    nodes: tuple[tuple[str, int], ...] = ()
    service: str = ""
    database: int = 0
    username: str | None = None
    password: str | None = None

    @classmethod
    def parse(cls, url: str, variable: str = "REDIS_URL") -> Address:
        try:
            return cls._parse(url)
        except (ValueError, IndexError) as error:
            raise ConfigurationError(f"{variable} is not valid: expected {_EXPECTED}.") from error

    @classmethod
    def _parse(cls, url: str) -> Address:
        scheme, _, rest = url.partition("://")
        if scheme in {"redis", "rediss"}:
            parts = urlsplit(url)
            if not parts.hostname:
                raise ValueError(url)
            database = int(parts.path.strip("/") or dict(parse_qsl(parts.query)).get("db", "0"))
            _ = parts.port  # raises ValueError when it is not a port
            return cls("single", url=url, database=database)
        if scheme == "unix":
            parts = urlsplit(url)
            if not parts.path.startswith("/"):
                raise ValueError(url)
            return cls("single", url=url, database=int(dict(parse_qsl(parts.query)).get("db", "0")))
        if scheme not in {"redis+sentinel", "redis+cluster"}:
            raise ValueError(url)
        credentials, _, hosts = rest.rpartition("@")
        username, _, password = credentials.partition(":")
        hosts, *path = hosts.split("/")
        default_port = 26379 if scheme == "redis+sentinel" else 6379
        nodes = tuple(_host_and_port(host, default_port) for host in hosts.split(","))
        address = cls("cluster", nodes=nodes, username=username or None, password=password or None)
        if scheme == "redis+cluster":
            return address
        service, *numbers = [part for part in path if part]
        database = int(numbers[0]) if numbers else 0
        return replace(address, kind="sentinel", service=service, database=database)

    def with_database(self, database: int) -> Address:
        if self.kind == "cluster":
            raise ConfigurationError(
                "CACHE_URL is required with redis+cluster://: a cluster has one database, "
                "and clearing the cache must not touch the boards."
            )
        if self.kind == "sentinel":
            return replace(self, database=database)
        parts = urlsplit(self.url)
        query = dict(parse_qsl(parts.query))
        path = parts.path
        if parts.scheme == "unix":
            query["db"] = str(database)
        else:
            query.pop("db", None)
            path = f"/{database}"
        url = urlunsplit((parts.scheme, parts.netloc, path, urlencode(query), ""))
        # urlunsplit drops the empty host of unix:///path
        url = url.replace("unix:/", "unix:///", 1) if url.startswith("unix:/") else url
        url = url.replace("unix://///", "unix:///", 1)
        return Address("single", url=url, database=database)


def _host_and_port(text: str, default_port: int) -> tuple[str, int]:
    host, separator, port = text.rpartition(":")
    if not separator:
        host, port = text, str(default_port)
    if not host:
        raise ValueError(text)
    return host.strip("[]"), int(port)


# Twice more, within 60 ms.
_RETRIES = (ExponentialWithJitterBackoff(base=0.01, cap=0.03), 2, (RedisConnectionError,))


class CautiousRetry(Retry):
    """Sends again only what cannot have run."""

    def call_with_retry(
        self, do: Any, fail: Any, is_retryable: Any = None, with_failure_count: bool = False
    ) -> Any:
        return super().call_with_retry(do, fail, cannot_have_run, with_failure_count)


class AsyncCautiousRetry(AsyncRetry):
    """The asynchronous twin."""

    async def call_with_retry(
        self, do: Any, fail: Any, is_retryable: Any = None, with_failure_count: bool = False
    ) -> Any:
        return await super().call_with_retry(do, fail, cannot_have_run, with_failure_count)


def _connect_timeout(alias: str) -> float:
    return min(CONNECT_TIMEOUT, ANSWER_TIMEOUT[alias] or CONNECT_TIMEOUT)


def _options(alias: str, retry: Any) -> dict[str, Any]:
    return {
        "socket_timeout": ANSWER_TIMEOUT[alias],
        "socket_connect_timeout": _connect_timeout(alias),
        "socket_keepalive": True,
        "max_connections": MAX_CONNECTIONS,
        "client_name": f"rostrum-{alias}",
        "retry": retry,
    }


def _connect(address: Address, alias: str, library: Any, retry: Any) -> Any:
    """A client of `library` (redis or redis.asyncio): the one place that builds them."""
    options = _options(alias, retry)
    access = {"username": address.username, "password": address.password}
    if address.kind == "cluster":
        nodes = [library.cluster.ClusterNode(host, port) for host, port in address.nodes]
        cautious = CautiousCluster if library is redis else AsyncCautiousCluster
        return cautious(startup_nodes=nodes, **options, **access)
    if address.kind == "sentinel":
        sentinel = library.sentinel.Sentinel(
            list(address.nodes),
            sentinel_kwargs={
                "socket_timeout": _connect_timeout(alias),
                "socket_connect_timeout": _connect_timeout(alias),
            },
        )
        client = sentinel.master_for(address.service, db=address.database, **options, **access)
    else:
        if address.url.startswith("unix:"):
            options.pop("socket_keepalive")
        client = library.Redis.from_url(address.url, **options)
    protocol.use_on(client.connection_pool)
    return client


class ConnectionFactory:
    """What django-redis asks for a client: one per address and alias, shared by all threads."""

    _clients: dict[tuple[str, Address], Any] = {}

    def __init__(self, options: dict[str, Any]) -> None:
        self.alias: str = options["ALIAS"]

    def connect(self, url: str) -> Any:
        address = Address.parse(url)
        key = (self.alias, address)
        if key not in self._clients:
            embedded.join_if_ours(address.url)
            client = _connect(address, self.alias, redis, CautiousRetry(*_RETRIES))
            # Threads that start together all come here, and all take the first one's. No lock:
            # while Redis is away each would wait for the failures of those before it.
            if self._clients.setdefault(key, client) is not client:
                client.close()
        return self._clients[key]

    def disconnect(self, connection: Any) -> None:
        """Django asks for this at the end of each request; the pool is meant to outlive it."""


class DataClient(DefaultClient):  # type: ignore[misc]
    """The boards are not a cache: `caches["data"].clear()` must not empty them."""

    def clear(self, client: Any = None) -> None:
        raise RuntimeError("This is the data, not the cache: use `manage.py reset`.")


def cache_settings(redis_url: str, cache_url: str) -> dict[str, dict[str, Any]]:
    """CACHES for settings: Django's cache, and the data connections it must never clear."""
    address = Address.parse(redis_url)
    if cache_url:
        if Address.parse(cache_url, "CACHE_URL").kind == "cluster":
            raise ConfigurationError("CACHE_URL is not valid: expected one server or a Sentinel.")
    else:
        cache_url = address_url(address.with_database(address.database + 1))

    def entry(alias: str, url: str, **options: Any) -> dict[str, Any]:
        return {
            "BACKEND": "django_redis.cache.RedisCache",
            # In a list, because django-redis would split a string at its commas.
            "LOCATION": [url],
            "OPTIONS": {
                "ALIAS": alias,
                "CONNECTION_FACTORY": "config.redis.connections.ConnectionFactory",
                **options,
            },
        }

    json = "django_redis.serializers.json.JSONSerializer"
    data = {"CLIENT_CLASS": "config.redis.connections.DataClient"}
    return {
        "default": entry("default", cache_url, SERIALIZER=json) | {"KEY_PREFIX": "cache"},
        "data": entry("data", redis_url, **data),
        "limits": entry("limits", redis_url, **data),
        "blocking": entry("blocking", redis_url, **data),
    }


def address_url(address: Address) -> str:
    """The address written back in the form that `Address.parse` reads."""
    if address.kind == "single":
        return address.url
    nodes = ",".join(f"{host}:{port}" for host, port in address.nodes)
    login = ""
    if address.password:
        login = f"{address.username or ''}:{address.password}@"
    tail = f"/{address.service}/{address.database}" if address.kind == "sentinel" else ""
    return f"redis+{address.kind}://{login}{nodes}{tail}"


def get_redis(alias: str = "data") -> Any:
    """The synchronous client of this process: bytes out, no key prefix."""
    return get_redis_connection(alias)


def perform(steps: Steps[Result]) -> Result:
    """Perform steps on the data connection; see `config.redis.calls`."""
    return perform_on(get_redis(), steps)


async def aperform(steps: Steps[Result]) -> Result:
    """The asynchronous twin."""
    return await aperform_on(get_async_redis(), steps)


_async_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Any]] = WeakKeyDictionary()


def get_async_redis(alias: str = "data") -> Any:
    """The asynchronous client of the running event loop, made on first use."""
    clients = _async_clients.setdefault(asyncio.get_running_loop(), {})
    if alias not in clients:
        address = Address.parse(settings.CACHES[alias]["LOCATION"][0])
        embedded.join_if_ours(address.url)
        clients[alias] = _connect(address, alias, redis.asyncio, AsyncCautiousRetry(*_RETRIES))
    return clients[alias]


async def close_async_redis() -> None:
    """Give the running loop's connections back; for shutdown and tests."""
    for client in _async_clients.pop(asyncio.get_running_loop(), {}).values():
        await (client.close_all() if isinstance(client, AsyncCautiousCluster) else client.aclose())
