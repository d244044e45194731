"""Measure other rate limiters against a bare INCR on their own client; prints ratios as JSON.

Runs in an environment without Rostrum: `rate_limiters.py <port> <rounds>`.
"""

from __future__ import annotations

import sys

import limits
import redis
import throttled
from django.conf import settings
from rounds import print_ratios

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


def main(port, rounds):
    client = redis.Redis(port=port)
    libraries = {
        "limits": limits_contestants(port),
        "throttled-py": throttled_contestants(port),
        "django-ratelimit": django_contestants(port),
    }
    print_ratios(lambda: client.incr("peers:incr"), libraries, rounds)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
