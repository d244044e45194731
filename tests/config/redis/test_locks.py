import threading

import pytest

from config import keys
from config.redis.locks import LockTakenError, hold
from tests.servers import wait_for


def test_one_holder_at_a_time():
    with hold("close"), pytest.raises(LockTakenError), hold("close"):
        pass
    with hold("close"):
        pass


def test_every_holder_gets_a_larger_number():
    fences = []
    for _ in range(3):
        with hold("close") as held:
            fences.append(held.fence)
    assert fences == sorted(set(fences))


def test_it_is_renewed_while_held(redis_client):
    with hold("close", timeout=0.3) as held:
        redis_client.pexpire(keys.lock("close"), 200)
        wait_for(lambda: redis_client.pttl(keys.lock("close")) > 200)
        assert not held.lost


def test_a_holder_learns_that_the_lock_was_lost(redis_client):
    with hold("close", timeout=0.3) as held:
        redis_client.set(keys.lock("close"), "another process")
        wait_for(lambda: held.lost)
        with pytest.raises(LockTakenError):
            held.check()
    assert redis_client.get(keys.lock("close")) == b"another process"


def test_a_dead_holders_lock_expires(redis_client):
    redis_client.set(keys.lock("close"), "the dead", px=50)
    with hold("close", wait=10):
        pass


def test_many_threads_count_without_losing_one(redis_client):
    def add_one():
        with hold("count", wait=30):
            value = int(redis_client.get("value") or 0)
            redis_client.set("value", value + 1)

    threads = [threading.Thread(target=add_one) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert redis_client.get("value") == b"16"
    assert redis_client.get(keys.fence("count")) == b"16"
