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

from config.redis.functions import Library
from config.redis.wire import AsyncWire, Wire
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


def test_it_keeps_one_connection_for_one_thread(redis_client):
    wire = Wire(redis_client)
    assert [wire.run(DOUBLE, [], (number,)) for number in range(20)] == list(range(0, 40, 2))
    assert len(wire._idle) == 1


def test_threads_never_share_a_connection(redis_client):
    wire = Wire(redis_client)
    wrong = []

    def ask(start):
        numbers = range(start, start + 200)
        wrong.extend(n for n in numbers if wire.run(DOUBLE, [], (n,)) != n * 2)

    threads = [threading.Thread(target=ask, args=(start,)) for start in range(0, 8000, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(wire._idle) <= len(threads)


def test_a_restart_of_the_server_goes_unnoticed():
    with redis_server() as server, server.client() as client:
        wire = Wire(client)
        assert wire.run(DOUBLE, [], (1,)) == 2
        server.stop()
        server.start()
        assert wire.run(DOUBLE, [], (2,)) == 4


def test_a_server_that_is_gone_is_an_error_and_the_next_call_tries_again():
    with redis_server() as server, server.client(retry=None) as client:
        wire = Wire(client)
        wire.run(DOUBLE, [], (1,))
        server.stop()
        for _ in range(2):
            with pytest.raises(RedisConnectionError):
                wire.run(DOUBLE, [], (1,))
        server.start()
        assert wire.run(DOUBLE, [], (2,)) == 4


def test_an_answer_that_came_too_late_is_never_read_as_the_next_ones():
    with redis_server() as server, server.client(socket_timeout=1.0, retry=None) as client:
        wire = Wire(client)
        assert wire.run(DOUBLE, [], (1,)) == 2
        server.process.send_signal(signal.SIGSTOP)
        with pytest.raises(RedisTimeoutError):
            wire.run(DOUBLE, [], (50,))
        assert not wire._idle
        server.process.send_signal(signal.SIGCONT)
        wait_for(server.answers)
        assert wire.run(DOUBLE, [], (4,)) == 8


def test_an_error_of_the_function_is_raised(redis_client):
    wire = Wire(redis_client)
    with pytest.raises(ResponseError):
        wire.run(BAD, [], ())
    assert wire.run(DOUBLE, [], (3,)) == 6


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


async def test_calls_that_wait_together_travel_together(async_client, redis_client):
    await AsyncWire(async_client).run(DOUBLE, [], (0,))
    before = redis_client.info("stats")["total_connections_received"]
    wire = AsyncWire(async_client)
    answers = await asyncio.gather(*(wire.run(DOUBLE, [], (n,)) for n in range(2000)))
    assert answers == [n * 2 for n in range(2000)]
    assert redis_client.info("stats")["total_connections_received"] - before <= 1


async def test_a_call_that_nobody_waits_for_does_not_shift_the_answers(async_client):
    wire = AsyncWire(async_client)
    calls = [asyncio.create_task(wire.run(DOUBLE, [], (n,))) for n in range(10)]
    await asyncio.sleep(0)
    calls[3].cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [answer for number, answer in enumerate(answers) if number != 3] == [
        n * 2 for n in range(10) if n != 3
    ]
    assert await wire.run(DOUBLE, [], (50,)) == 100


async def test_a_server_without_the_library_gets_it_and_answers_all_who_wait(async_client):
    await async_client.function_flush()
    wire = AsyncWire(async_client)
    answers = await asyncio.gather(*(wire.run(DOUBLE, [], (n,)) for n in range(20)))
    assert answers == [n * 2 for n in range(20)]


async def test_one_bad_call_fails_alone(async_client):
    wire = AsyncWire(async_client)
    good, bad, also_good = await asyncio.gather(
        wire.run(DOUBLE, [], (1,)),
        wire.run(BAD, [], ()),
        wire.run(DOUBLE, [], (2,)),
        return_exceptions=True,
    )
    assert (good, also_good) == (2, 4)
    assert isinstance(bad, ResponseError)


async def test_a_restart_goes_unnoticed_by_the_async_wire():
    with redis_server() as server:
        async with redis.asyncio.Redis(port=server.port) as client:
            wire = AsyncWire(client)
            assert await wire.run(DOUBLE, [], (1,)) == 2
            server.stop()
            with pytest.raises(RedisConnectionError):
                await wire.run(DOUBLE, [], (1,))
            server.start()
            assert await wire.run(DOUBLE, [], (2,)) == 4
            server.stop()
            server.start()
            assert await wire.run(DOUBLE, [], (3,)) == 6
