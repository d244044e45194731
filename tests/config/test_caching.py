"""One filler per cold entry."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.cache import cache

from config import keys
from config.caching import cached


def test_two_hundred_first_readers_cause_one_computation():
    together = threading.Barrier(200)
    calls = []

    def compute():
        calls.append(1)
        return {"rows": [1, 2]}

    def read(_):
        together.wait()
        return cached("cold", 60, compute)

    with ThreadPoolExecutor(200) as threads:
        answers = list(threads.map(read, range(200)))
    assert answers == [{"rows": [1, 2]}] * 200
    assert len(calls) == 1


def test_a_computation_that_failed_leaves_the_way_free():
    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cached("cold", 60, fail)
    assert cached("cold", 60, lambda: 1) == 1


def test_none_is_a_value_and_a_mark_left_by_a_dead_filler_expires():
    assert cached("nothing", 60, lambda: None) is None
    assert cached("nothing", 60, lambda: 1) is None
    cache.add(keys.filling("cold"), 1, 0.05)  # a filler that died
    assert cached("cold", 60, lambda: 2) == 2
