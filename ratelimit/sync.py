"""Every two seconds, in each process: take over what staff changed, write down what was counted.

So that no call to a limit pays for it. The thread starts with the first call; a command that meets
no limit has none. Overrides come from SQL, blocks and resets from Redis; what cannot be reached
is tried again the next time.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from datetime import UTC, datetime
from time import time
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection

from config.redis import versions
from config.redis.connections import OUTAGE_ERRORS, get_redis
from ratelimit import keys, metrics, policies

logger = logging.getLogger("rostrum.ratelimit")

KEPT_CALLERS = 1_000  # per hour, the busiest
WRITTEN_CALLERS = 100  # per flush, the busiest of a process
MAX_BLOCKS = 10_000
OUTCOMES_TTL = 8 * 86400
CALLERS_TTL = 2 * 3600

_blocks: dict[str, float] = {}
_changes: bytes | None = None
_overrides: dict[str, str] = {}
_running = False
_starting = threading.Lock()
_stopping = threading.Event()


def start() -> None:
    """Have the thread running in this process; costs nothing when it is."""
    global _running
    if _running:
        return
    with _starting:
        if not _running and settings.RATE_LIMIT_PULSE > 0:
            threading.Thread(target=_beat, name="ratelimit pulse", daemon=True).start()
        _running = True


def _forked() -> None:
    global _running
    _running = False  # threads stay with the parent


os.register_at_fork(after_in_child=_forked)


def _beat() -> None:
    while True:
        try:
            once()
        except Exception:  # this thread must outlive every surprise; the next beat may do better
            logger.exception("the pulse of the rate limits failed")
        finally:
            connection.close()
        if _stopping.wait(settings.RATE_LIMIT_PULSE):
            return


def once() -> None:
    """One beat."""
    with suppress(*OUTAGE_ERRORS):
        take_over_blocks()
    with suppress(DatabaseError):
        take_over_overrides()
    with suppress(*OUTAGE_ERRORS):
        write_tally()
    with suppress(*OUTAGE_ERRORS):
        versions.note_use(get_redis())


# ---- what staff changed --------------------------------------------------------------------------


def blocked_until(policy: str, caller: str) -> float | None:
    """When the block of this caller ends, in seconds since 1970; None without one."""
    return _blocks.get(f"{policy}:{caller}") if _blocks else None


def take_over_blocks() -> None:
    """Know the blocks; when anything was changed by staff, ask Redis anew about everybody."""
    global _blocks, _changes
    from ratelimit.guard import shield

    with get_redis().pipeline(transaction=False) as pipe:
        pipe.get(keys.changes())
        pipe.zrange(
            keys.blocks(),
            f"({time():.3f}",
            "+inf",
            byscore=True,
            withscores=True,
            offset=0,
            num=MAX_BLOCKS,
        )
        changes, blocks = pipe.execute()
    _blocks = {name.decode(): until for name, until in blocks}
    if changes != _changes:
        shield.clear()
        _changes = changes


def take_over_overrides() -> None:
    """Put the overrides in force that the database has now."""
    global _overrides
    from ratelimit.guard import shield
    from ratelimit.models import PolicyOverride

    found = dict(PolicyOverride.objects.filter(active=True).values_list("policy", "sentence"))
    if found == _overrides:
        return
    _overrides = found
    policies.override(found)
    shield.clear()


# ---- what was counted ----------------------------------------------------------------------------


def write_tally() -> None:
    tally = metrics.take_tally()
    if not tally:
        return
    now = datetime.now(UTC)
    outcomes, hour = keys.outcomes(f"{now:%Y-%m-%d}"), int(now.timestamp()) // 3600
    with get_redis().pipeline(transaction=False) as pipe:
        for name, number in tally.outcomes.items():
            pipe.hincrby(outcomes, name, number)
        pipe.expire(outcomes, OUTCOMES_TTL)
        _add_callers(pipe, keys.busiest(hour), tally.hits)
        _add_callers(pipe, keys.most_denied(hour), tally.denials)
        pipe.execute()


def _add_callers(pipe: Any, key: str, counter: Any) -> None:
    busiest = counter.most_common(WRITTEN_CALLERS)
    if not busiest:
        return
    for name, number in busiest:
        pipe.zincrby(key, number, name)
    pipe.zremrangebyrank(key, 0, -KEPT_CALLERS - 1)
    pipe.expire(key, CALLERS_TTL)


def forget() -> None:
    """Know of no block, change or override; for tests."""
    global _blocks, _changes, _overrides
    _blocks, _changes, _overrides = {}, None, {}
