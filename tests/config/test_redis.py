import asyncio

import pytest
import redis
from django.core.cache import cache, caches
from redis.backoff import NoBackoff

from config.errors import ConfigurationError
from config.redis.connections import (
    Address,
    CautiousRetry,
    address_url,
    cache_settings,
    close_async_redis,
    get_async_redis,
    get_redis,
)
from tests.patience import MORE, PRODUCT_ANSWER_TIMEOUT
from tests.servers import ON_CLUSTER


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
