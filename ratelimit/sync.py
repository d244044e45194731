"""Every two seconds, in each process: read what staff changed, and write what was counted.

A thread does it, so that no call to a limit pays for it. It starts with the first call. Overrides
come from SQL, blocks and resets from Redis; what cannot be reached is tried again the next time.
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
    """Start the thread in this process; costs nothing when it runs."""
    global _running
    if _running:
        return
    with _starting:
        if not _running and settings.RATE_LIMIT_SYNC_SECONDS > 0:
            threading.Thread(target=_run, name="ratelimit sync", daemon=True).start()
        _running = True


def _forked() -> None:
    global _running
    _running = False  # threads stay with the parent


os.register_at_fork(after_in_child=_forked)


def _run() -> None:
    while True:
        try:
            once()
        except Exception:  # the thread goes on: the next sync may succeed
            logger.exception("The sync of the rate limits failed")
        finally:
            connection.close()
        if _stopping.wait(settings.RATE_LIMIT_SYNC_SECONDS):
            return


def once() -> None:
    """One sync."""
    with suppress(*OUTAGE_ERRORS):
        read_blocks()
    with suppress(DatabaseError):
        read_overrides()
    with suppress(*OUTAGE_ERRORS):
        write_tally()
    with suppress(*OUTAGE_ERRORS):
        versions.note_use(get_redis())


# ---- what staff changed --------------------------------------------------------------------------


def blocked_until(policy: str, caller: str) -> float | None:
    """When the block of this caller ends, in seconds since 1970; None without one."""
    return _blocks.get(f"{policy}:{caller}") if _blocks else None


def read_blocks() -> None:
    """Read the blocks; when staff changed anything, drop the denials that this process keeps."""
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


def read_overrides() -> None:
    """Put the overrides of the database in force."""
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
