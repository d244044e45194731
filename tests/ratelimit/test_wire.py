import os
import threading
import warnings

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from config.scripts import Script
from ratelimit.limiter import Limiter
from ratelimit.sentence import parse
from ratelimit.wire import Wire
from tests.servers import redis_server, wait_for

DOUBLE = Script("double", "return ARGV[1] * 2")
BAD = Script("bad", "return redis.call('GET')")


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


def test_an_answer_that_came_too_late_is_never_read_as_the_next_ones(redis_server):
    with redis_server.client(socket_timeout=0.05, retry=None) as client:
        wire = Wire(client)
        assert wire.run(DOUBLE, [], (1,)) == 2
        with redis_server.client() as other:
            other.execute_command("CLIENT", "PAUSE", 300, "ALL")
        with pytest.raises(RedisTimeoutError):
            wire.run(DOUBLE, [], (50,))
        assert not wire._idle
        wait_for(redis_server.answers)
        assert wire.run(DOUBLE, [], (4,)) == 8


def test_an_error_of_the_script_is_told(redis_client):
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
