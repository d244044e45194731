"""Measure other rate limiters against a bare INCR on their own client; prints ratios as JSON.

Runs in an environment without Rostrum: `measure.py <port> <rounds>`.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import limits
import redis
import throttled
from django.conf import settings

ROUND_SECONDS = 0.04
PLENTY = 100_000


def limits_contestants(port):
    storage = limits.storage.storage_from_string(f"redis://127.0.0.1:{port}")
    plenty, one = limits.RateLimitItemPerHour(PLENTY), limits.RateLimitItemPerHour(1)
    strategies = {
        "fixed_window": limits.strategies.FixedWindowRateLimiter,
        "sliding_log": limits.strategies.MovingWindowRateLimiter,
        "sliding_counter": limits.strategies.SlidingWindowCounterRateLimiter,
    }
    for name, strategy in strategies.items():
        limiter = strategy(storage)

        def allowed(limiter=limiter, name=name):
            if not limiter.hit(plenty, f"limits:{name}"):
                limiter.clear(plenty, f"limits:{name}")

        limiter.hit(one, f"limits:{name}")
        yield f"{name} allowed", allowed
        yield (
            f"{name} denied",
            lambda limiter=limiter, name=name: limiter.hit(one, f"limits:{name}"),
        )


def throttled_contestants(port):
    store = throttled.RedisStore(server=f"redis://127.0.0.1:{port}/0")
    using = {
        "fixed_window": "fixed_window",
        "sliding_counter": "sliding_window",
        "token_bucket": "token_bucket",
        "gcra": "gcra",
    }
    for name, kind in using.items():
        plenty = throttled.Throttled(
            using=kind, quota=throttled.rate_limiter.per_hour(PLENTY, burst=PLENTY), store=store
        )
        one = throttled.Throttled(
            using=kind, quota=throttled.rate_limiter.per_hour(1, burst=1), store=store
        )
        one.limit(f"one:{name}")
        yield f"{name} allowed", lambda t=plenty, name=name: t.limit(f"plenty:{name}")
        yield f"{name} denied", lambda t=one, name=name: t.limit(f"one:{name}")


def django_contestants(port):
    settings.configure(
        CACHES={
            "default": {
                "BACKEND": "django_redis.cache.RedisCache",
                "LOCATION": f"redis://127.0.0.1:{port}/0",
            }
        }
    )
    from django.test import RequestFactory
    from django_ratelimit.core import get_usage

    request = RequestFactory().get("/")

    def usage(rate):
        return get_usage(request, group=rate, key="ip", rate=rate, increment=True)

    usage("1/h")
    yield "fixed_window allowed", lambda: usage(f"{PLENTY}/h")
    yield "fixed_window denied", lambda: usage("1/h")


def seconds_per_call(call, count):
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def main(port, rounds):
    client = redis.Redis(port=port)
    libraries = {
        "limits": limits_contestants(port),
        "throttled-py": throttled_contestants(port),
        "django-ratelimit": django_contestants(port),
    }
    contestants = {("", "INCR"): lambda: client.incr("peers:incr")}
    for library, found in libraries.items():
        contestants |= {(library, name): call for name, call in found}
    counts = {}
    for name, call in contestants.items():
        call()
        fastest = min(seconds_per_call(call, 1) for _ in range(3))
        counts[name] = max(1, round(ROUND_SECONDS / fastest))
    seconds = {name: [] for name in contestants}
    names = list(contestants)
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            seconds[name].append(seconds_per_call(contestants[name], counts[name]))
    ratios = {library: {} for library in libraries}
    for (library, name), own in seconds.items():
        if library:
            pairs = zip(own, seconds["", "INCR"], strict=True)
            ratios[library][name] = statistics.median(bare / each for each, bare in pairs)
    json.dump(ratios, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
