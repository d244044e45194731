"""Actions of staff on one caller."""

from __future__ import annotations

import logging
import secrets
from time import time

from config.redis.connections import get_redis
from ratelimit import guard, keys, policies, sync
from ratelimit.limiter import Limiter

logger = logging.getLogger("rostrum.ratelimit")

LONGEST_BLOCK = 365 * 86400
_CHANGES_TTL = 86400


def reset_caller(*, policy: str, caller: str, actor: str) -> None:
    """Reset the counters; the shields of other processes follow with their next sync."""
    Limiter(get_redis()).reset(policies.get(policy), caller)
    guard.shield.forget(policy, caller)
    _announce("reset", policy, caller, actor)


def block_caller(*, policy: str, caller: str, seconds: int, actor: str) -> float:
    """Refuse every call for a time, in every process within seconds; returns when it ends."""
    policies.get(policy)  # raises for an unknown name
    if not 1 <= seconds <= LONGEST_BLOCK:
        raise ValueError("A block lasts from one second to a year.")
    now = time()
    with get_redis().pipeline(transaction=False) as pipe:
        pipe.zremrangebyscore(keys.blocks(), "-inf", now)
        pipe.zadd(keys.blocks(), {f"{policy}:{caller}": now + seconds})
        pipe.expire(keys.blocks(), LONGEST_BLOCK)
        pipe.execute()
    _announce("block", policy, caller, actor)
    return now + seconds


def unblock_caller(*, policy: str, caller: str, actor: str) -> bool:
    """Lift a block; False when there was none."""
    removed = get_redis().zrem(keys.blocks(), f"{policy}:{caller}")
    _announce("unblock", policy, caller, actor)
    return bool(removed)


def _announce(verb: str, policy: str, caller: str, actor: str) -> None:
    get_redis().set(keys.changes(), secrets.token_hex(8), ex=_CHANGES_TTL)
    sync.read_blocks()
    logger.info(verb, extra={"policy": policy, "caller": caller, "actor": actor})
