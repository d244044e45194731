import asyncio

import pytest
import redis
from django.core.cache import cache, caches
from redis.backoff import NoBackoff

from config.errors import ConfigurationError
from config.redis import protocol
from config.redis.connections import (
    _RETRIES,
    Address,
    AsyncCautiousRetry,
    CautiousRetry,
    _connect,
    address_url,
    cache_settings,
    close_async_redis,
    get_async_redis,
    get_redis,
)
from tests.patience import MORE, PRODUCT_ANSWER_TIMEOUT
from tests.servers import ON_CLUSTER, redis_cluster, redis_server


@pytest.mark.parametrize(
    ("url", "kind", "database"),
    [
        ("redis://localhost", "single", 0),
        ("redis://:secret@localhost:6380/3", "single", 3),
        ("rediss://user:secret@example.com:6380/1", "single", 1),
        ("unix:///run/redis.sock?db=2", "single", 2),
        ("redis+sentinel://one:26379,two:26379/main/4", "sentinel", 4),
        ("redis+sentinel://:secret@one/main", "sentinel", 0),
        ("redis+cluster://one:7000,two:7001", "cluster", 0),
    ],
)
def test_it_reads_every_form_of_address(url, kind, database):
    address = Address.parse(url)
    assert (address.kind, address.database) == (kind, database)
    assert Address.parse(address_url(address)) == address


def test_a_sentinel_address_names_hosts_service_and_password():
    address = Address.parse("redis+sentinel://user:secret@one:1,[::1]:2,three/main/4")
    assert address.nodes == (("one", 1), ("::1", 2), ("three", 26379))
    assert (address.service, address.username, address.password) == ("main", "user", "secret")


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6379",
        "http://localhost",
        "redis://",
        "redis://localhost:port",
        "redis://localhost/zero",
        "unix://relative.sock",
        "redis+sentinel://one:26379",
        "redis+cluster://",
        "redis+cluster://one:x",
    ],
)
def test_a_wrong_address_is_named_with_what_is_expected(url):
    with pytest.raises(ConfigurationError, match=r"^REDIS_URL is not valid: expected redis://"):
        Address.parse(url)


@pytest.mark.parametrize(
    ("url", "cache"),
    [
        ("redis://:secret@h:1/3", "redis://:secret@h:1/4"),
        ("redis://h:1?db=3", "redis://h:1/4"),
        ("unix:///run/r.sock?db=0", "unix:///run/r.sock?db=1"),
        ("redis+sentinel://a:1,b:2/main/0", "redis+sentinel://a:1,b:2/main/1"),
    ],
)
def test_the_cache_has_a_database_of_its_own(url, cache):
    assert cache_settings(url, "")["default"]["LOCATION"] == [cache]


def test_a_cluster_asks_for_a_cache_elsewhere():
    with pytest.raises(ConfigurationError, match="CACHE_URL is required"):
        cache_settings("redis+cluster://one:7000", "")
    elsewhere = cache_settings("redis+cluster://one:7000", "redis://two/0")
    assert elsewhere["default"]["LOCATION"] == ["redis://two/0"]


def test_clearing_the_cache_leaves_the_data():
    get_redis().set("kept", 1)
    cache.set("dropped", 1)
    cache.clear()
    assert get_redis().get("kept") == b"1"
    assert cache.get("dropped") is None


def test_the_data_cannot_be_cleared_as_if_it_were_a_cache():
    get_redis().set("kept", 1)
    with pytest.raises(RuntimeError, match="not the cache"):
        caches["data"].clear()
    assert get_redis().get("kept") == b"1"


def test_each_purpose_waits_as_long_as_it_should():
    def timeout(alias):
        client = get_redis(alias)
        node = client.client_for("any") if ON_CLUSTER else client
        return node.connection_pool.connection_kwargs["socket_timeout"]

    for alias, seconds in (("data", 5.0), ("blocking", 6.0)):
        assert PRODUCT_ANSWER_TIMEOUT[alias] == seconds
        assert timeout(alias) == seconds + MORE
    assert PRODUCT_ANSWER_TIMEOUT["limits"] < 0.1


def test_connections_carry_a_name(redis_client):
    get_redis().ping()
    assert "rostrum-data" in {client["name"] for client in redis_client.client_list()}


async def test_a_loop_has_one_async_client():
    assert get_async_redis() is get_async_redis()
    assert await get_async_redis().ping()
    await close_async_redis()


def test_two_loops_have_two_async_clients():
    async def client():
        client = get_async_redis()
        await client.ping()
        await close_async_redis()
        return client

    assert asyncio.run(client()) is not asyncio.run(client())


def calls_until_given_up(error):
    calls = []

    def command():
        calls.append(1)
        raise error

    with pytest.raises(type(error)):
        CautiousRetry(NoBackoff(), 2, (redis.ConnectionError,)).call_with_retry(
            command, lambda error: None
        )
    return len(calls)


def refused():
    error = redis.ConnectionError("refused")
    error.__cause__ = ConnectionRefusedError()
    return error


def test_what_was_refused_is_sent_again():
    assert calls_until_given_up(refused()) == 3
    assert calls_until_given_up(redis.BusyLoadingError("loading")) == 3


def test_what_may_have_run_is_not_sent_again():
    assert calls_until_given_up(redis.ConnectionError("closed by server")) == 1
    assert calls_until_given_up(redis.TimeoutError("no answer")) == 1


def test_asynchronous_commands_carry_what_synchronous_ones_carry():
    values = ["text", b"\x00\xff", 7, 1.5, 1e300, "", "x" * 100_000, "\N{FIRE}"]

    async def pushed():
        client = get_async_redis()
        await client.rpush("values", *values)
        with pytest.raises(redis.exceptions.DataError):
            await client.rpush("values", None)
        assert await client.execute_command("OBJECT ENCODING", "values")  # two words
        found = await client.lrange("values", 0, -1)
        await client.delete("values")
        await close_async_redis()
        return found

    found = asyncio.run(pushed())
    get_redis().rpush("values", *values)
    assert found == get_redis().lrange("values", 0, -1)


# ---- what our connections have beyond redis-py's -------------------------------------------------


def ours(url):
    return _connect(Address.parse(url), "data", redis, CautiousRetry(*_RETRIES))


def ours_async(url):
    return _connect(Address.parse(url), "data", redis.asyncio, AsyncCautiousRetry(*_RETRIES))


@pytest.fixture
def lonely():
    """A server that takes no write, because it has no replica."""
    with redis_server(**{"min-replicas-to-write": "1"}) as server:
        yield server


def test_our_clients_recognise_a_server_that_refuses_writes(lonely):
    with ours(lonely.url) as client, pytest.raises(protocol.CannotWriteError):
        client.set("key", 1)


async def test_our_asynchronous_clients_too(lonely):
    async with ours_async(lonely.url) as client:
        with pytest.raises(protocol.CannotWriteError):
            await client.set("key", 1)


async def test_the_clients_of_others_are_as_redis_py_makes_them(lonely):
    with lonely.client() as client, pytest.raises(redis.ResponseError) as raised:
        client.set("key", 1)
    assert type(raised.value) is redis.ResponseError
    async with lonely.async_client() as client:
        with pytest.raises(redis.ResponseError) as raised:
            await client.set("key", 1)
        connection = client.connection_pool.make_connection()
        assert type(connection).pack_command.__module__ == "redis.asyncio.connection"
    assert type(raised.value) is redis.ResponseError


@pytest.mark.parametrize(
    "url",
    [
        "redis://localhost",
        "rediss://localhost",
        "unix:///run/redis.sock",
        "redis+sentinel://localhost/main",
    ],
)
async def test_every_kind_of_connection_is_ours(url):
    connection = ours(url).connection_pool.make_connection()
    assert type(connection._parser) is protocol.Parser
    connection = ours_async(url).connection_pool.make_connection()
    assert type(connection._parser) is protocol.AsyncParser
    assert type(connection).pack_command.__module__ == protocol.__name__
    assert isinstance(protocol.Parser.parse_error("MISCONF full"), protocol.CannotWriteError)


@pytest.mark.cluster
async def test_so_are_those_of_a_cluster():
    with redis_cluster() as servers:
        for server in servers:
            with server.client() as node:
                node.config_set("min-replicas-to-write", 1)
        url = f"redis+cluster://127.0.0.1:{servers[0].port}"
        with ours(url) as client:
            for writer in (client, client.client_for("key")):
                with pytest.raises(protocol.CannotWriteError):
                    writer.set("key", 1)
        client = ours_async(url)
        for writer in (client, await client.client_for("key")):
            with pytest.raises(protocol.CannotWriteError):
                await writer.set("key", 1)
        nodes = client.get_nodes()
        assert {
            type(one).pack_command.__module__ for node in nodes for one in node._connections
        } == {protocol.__name__}
        await client.close_all()
