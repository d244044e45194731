import asyncio
import os
import signal
import threading
import warnings

import pytest
import redis.asyncio
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from config.redis import wire
from config.redis.calls import Call, Command
from config.redis.functions import Library
from config.redis.wire import AsyncWire
from ratelimit.limiter import Limiter
from ratelimit.sentence import parse
from tests.servers import redis_server, wait_for

pytestmark = pytest.mark.one_server  # a cluster has no short way: the key chooses the connection

LIBRARY = Library(
    "tests",
    {
        "numbers": """
register('double', function(keys, args) return args[1] * 2 end)
register('bad', function() return call('GET') end)
"""
    },
)
DOUBLE, BAD = LIBRARY["double"], LIBRARY["bad"]


def run(client, function, *args, may_repeat=True):
    return Call(function, [], args, may_repeat=may_repeat).send(client)


def idle(client):
    return wire.kept_of(client.connection_pool).idle


def test_it_keeps_one_connection_for_one_thread(redis_client):
    assert [run(redis_client, DOUBLE, number) for number in range(20)] == list(range(0, 40, 2))
    assert len(idle(redis_client)) == 1


def test_threads_never_share_a_connection(redis_client):
    wrong = []

    def ask(start):
        numbers = range(start, start + 200)
        wrong.extend(n for n in numbers if run(redis_client, DOUBLE, n) != n * 2)

    threads = [threading.Thread(target=ask, args=(start,)) for start in range(0, 8000, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(idle(redis_client)) <= len(threads)


@pytest.mark.parametrize("may_repeat", [True, False])
def test_a_restart_of_the_server_goes_unnoticed(may_repeat):
    with redis_server() as server, server.client() as client:
        assert run(client, DOUBLE, 1, may_repeat=may_repeat) == 2
        server.stop()
        server.start()
        assert run(client, DOUBLE, 2, may_repeat=may_repeat) == 4


def test_only_what_may_repeat_is_sent_again_after_a_lost_connection(monkeypatch):
    monkeypatch.setattr(wire, "FRESH", 60.0)  # a kept connection is not looked at first
    with redis_server(appendonly="yes") as server, server.client(retry=None) as client:
        run(client, DOUBLE, 1)
        server.stop()
        server.start()
        assert run(client, DOUBLE, 2) == 4
        server.stop()
        server.start()
        with pytest.raises(RedisConnectionError):
            run(client, DOUBLE, 3, may_repeat=False)
        assert run(client, DOUBLE, 4, may_repeat=False) == 8


def test_a_server_that_is_gone_is_an_error_and_the_next_call_tries_again():
    with redis_server() as server, server.client(retry=None) as client:
        run(client, DOUBLE, 1)
        server.stop()
        for _ in range(2):
            with pytest.raises(RedisConnectionError):
                run(client, DOUBLE, 1)
        server.start()
        assert run(client, DOUBLE, 2) == 4


def test_an_answer_that_came_too_late_is_never_read_as_the_next_ones():
    with redis_server() as server, server.client(socket_timeout=1.0, retry=None) as client:
        assert run(client, DOUBLE, 1) == 2
        server.process.send_signal(signal.SIGSTOP)
        with pytest.raises(RedisTimeoutError):
            run(client, DOUBLE, 50)
        assert not idle(client)
        server.process.send_signal(signal.SIGCONT)
        wait_for(server.answers)
        assert run(client, DOUBLE, 4) == 8


def test_an_error_of_the_function_is_raised(redis_client):
    with pytest.raises(ResponseError):
        run(redis_client, BAD)
    assert run(redis_client, DOUBLE, 3) == 6


def test_a_command_has_the_reply_that_the_client_gives(redis_client):
    redis_client.hset("hash", mapping={"a": 1})
    redis_client.zadd("set", {"a": 1.5})
    for words in [("HGETALL", "hash"), ("ZSCORE", "set", "a"), ("EXISTS", "hash"), ("INFO",)]:
        reply, given = Command(*words).send(redis_client), redis_client.execute_command(*words)
        assert type(reply) is type(given)
        assert words == ("INFO",) or reply == given


def test_a_child_process_opens_its_own_connection(redis_client):
    limiter = Limiter(redis_client)
    policy = parse("test", "10/minute, fixed window")
    limiter.hit(policy, "ada")
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other tests' threads are asleep
        child = os.fork()
    if child == 0:
        try:
            os.write(writer, str(limiter.hit(policy, "ada").remaining).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 10) == b"8"
    os.close(reader)
    os.close(writer)
    assert limiter.hit(policy, "ada").remaining == 7


@pytest.fixture
async def async_client(redis_server):
    async with redis.asyncio.Redis(port=redis_server.port) as client:
        yield client


def call(function, *args, may_repeat=True):
    return Call(function, [], args, may_repeat=may_repeat)


async def test_calls_that_wait_together_travel_together(async_client, redis_client):
    await call(DOUBLE, 0).asend(AsyncWire(async_client))
    before = redis_client.info("stats")["total_connections_received"]
    short_way = AsyncWire(async_client)
    answers = await asyncio.gather(*(call(DOUBLE, n).asend(short_way) for n in range(2000)))
    assert answers == [n * 2 for n in range(2000)]
    assert redis_client.info("stats")["total_connections_received"] - before <= 1


async def test_a_call_that_nobody_waits_for_does_not_shift_the_answers(async_client):
    short_way = AsyncWire(async_client)
    calls = [asyncio.create_task(call(DOUBLE, n).asend(short_way)) for n in range(10)]
    await asyncio.sleep(0)
    calls[3].cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [answer for number, answer in enumerate(answers) if number != 3] == [
        n * 2 for n in range(10) if n != 3
    ]
    assert await call(DOUBLE, 50).asend(short_way) == 100


async def test_a_server_without_the_library_gets_it_and_answers_all_who_wait(async_client):
    await async_client.function_flush()
    short_way = AsyncWire(async_client)
    answers = await asyncio.gather(*(call(DOUBLE, n).asend(short_way) for n in range(20)))
    assert answers == [n * 2 for n in range(20)]


async def test_one_bad_call_fails_alone(async_client):
    short_way = AsyncWire(async_client)
    good, bad, also_good = await asyncio.gather(
        call(DOUBLE, 1).asend(short_way),
        call(BAD).asend(short_way),
        call(DOUBLE, 2).asend(short_way),
        return_exceptions=True,
    )
    assert (good, also_good) == (2, 4)
    assert isinstance(bad, ResponseError)


async def test_a_restart_goes_unnoticed_by_the_async_wire():
    with redis_server() as server:
        async with redis.asyncio.Redis(port=server.port) as client:
            short_way = AsyncWire(client)
            assert await call(DOUBLE, 1).asend(short_way) == 2
            server.stop()
            with pytest.raises(RedisConnectionError):
                await call(DOUBLE, 1).asend(short_way)
            server.start()
            assert await call(DOUBLE, 2).asend(short_way) == 4
            server.stop()
            server.start()
            assert await call(DOUBLE, 3).asend(short_way) == 6


async def test_only_calls_that_may_repeat_are_sent_again_by_the_async_wire():
    with redis_server(appendonly="yes") as server:
        async with redis.asyncio.Redis(port=server.port, retry=None) as client:
            short_way = AsyncWire(client)
            assert await call(DOUBLE, 1).asend(short_way) == 2
            server.stop()
            server.start()
            with pytest.raises(RedisConnectionError):
                await call(DOUBLE, 2, may_repeat=False).asend(short_way)
            assert await call(DOUBLE, 3, may_repeat=False).asend(short_way) == 6
