"""Cache-aside with one filler: however many want a cold entry, one of them computes it.

The others wait for the value, not for the lock: they look again every few milliseconds, and take
over when the filler gave up. The cache is never the only place where something is stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.core.cache import cache

from config import keys
from config.redis.connections import OUTAGE_ERRORS

# Longer than any computation behind it; a filler that died blocks the others no longer than this.
FILL_TIMEOUT = 10
LOOK_AGAIN = 0.02
# While the cache is away, each process keeps this many values that it computed, for this long.
AWAY_TTL = 5.0
MOST_AWAY = 200

_MISSING = object()
_away: dict[str, tuple[float, Any]] = {}


def cached(key: str, ttl: int, compute: Callable[[], Any]) -> Any:
    """The cached value of `key`, computed by exactly one caller when it is missing.

    The value must survive JSON. When the cache itself is away, this raises: without it, every
    reader of the page would query SQL.
    """
    deadline = time.monotonic() + FILL_TIMEOUT
    while True:
        value = cache.get(key, _MISSING)
        if value is not _MISSING:
            return value
        if cache.add(keys.filling(key), 1, FILL_TIMEOUT):
            break
        if time.monotonic() > deadline:
            break  # the filler is too slow; better computed twice than never
        time.sleep(LOOK_AGAIN)
    try:
        # Another process may have filled it between our look and our lock.
        value = cache.get(key, _MISSING)
        if value is _MISSING:
            value = compute()
            cache.set(key, value, ttl)
    finally:
        # A filler that overran its time may remove its successor's mark; that costs one more
        # computation and nothing else.
        cache.delete(keys.filling(key))
    return value


def cached_or_computed(
    name: str, key: Callable[[], str], ttl: int, compute: Callable[[], Any]
) -> Any:
    """As `cached`, for what must be shown while the cache is away too. `key` may read the cache;
    `name` identifies the same entry without it."""
    try:
        return cached(key(), ttl, compute)
    except OUTAGE_ERRORS:
        until, value = _away.get(name, (0.0, None))
        if time.monotonic() >= until:
            value = compute()
            while len(_away) >= MOST_AWAY:
                _away.pop(next(iter(_away)), None)
            _away[name] = (time.monotonic() + AWAY_TTL, value)
        return value
