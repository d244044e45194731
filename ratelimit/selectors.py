"""The state of the limits, for staff. Bounded: one round trip, at most `SHOWN` callers a list."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import time
from typing import Any

from config.redis.connections import get_redis
from ratelimit import keys, policies, sync
from ratelimit.decision import Decision
from ratelimit.limiter import Limiter
from ratelimit.metrics import Outcome
from ratelimit.policy import Policy

SHOWN = 20


@dataclass(frozen=True)
class PolicyRow:
    """One policy and the outcomes of its calls today (UTC)."""

    policy: Policy
    overridden: bool
    outcomes: dict[str, int] = field(default_factory=dict)

    @property
    def hits(self) -> int:
        return sum(self.outcomes.values())

    @property
    def denied(self) -> int:
        return self.outcomes.get(Outcome.DENIED, 0) + self.outcomes.get(Outcome.BLOCKED, 0)

    @property
    def shadow_denied(self) -> int:
        return self.outcomes.get(Outcome.SHADOW_DENIED, 0)

    @property
    def failed(self) -> int:
        return sum(self.outcomes.get(o, 0) for o in (Outcome.FAILED_OPEN, Outcome.FAILED_CLOSED))


@dataclass(frozen=True)
class CallerRow:
    """A caller's name in Redis, with a count of this hour and the one before."""

    policy: str
    caller: str
    count: int


@dataclass(frozen=True)
class BlockRow:
    policy: str
    caller: str
    until: datetime


@dataclass(frozen=True)
class Summary:
    policies: list[PolicyRow]
    busiest: list[CallerRow]
    most_denied: list[CallerRow]
    blocked: list[BlockRow]


def summary() -> Summary:
    """Every policy with today's counts, the busiest, the most denied and the blocked callers."""
    sync.write_tally()  # includes what this process has counted since
    now = datetime.now(UTC)
    hour = int(now.timestamp()) // 3600
    with get_redis().pipeline(transaction=False) as pipe:
        pipe.hgetall(keys.outcomes(f"{now:%Y-%m-%d}"))
        for key in (keys.busiest, keys.most_denied):
            for number in (hour, hour - 1):
                pipe.zrange(key(number), 0, SHOWN - 1, desc=True, withscores=True)
        pipe.zrange(
            keys.blocks(), time(), "+inf", byscore=True, withscores=True, offset=0, num=SHOWN
        )
        outcomes, busy, busy_before, denied, denied_before, blocks = pipe.execute()
    return Summary(
        policies=policy_rows(outcomes),
        busiest=_callers(busy, busy_before),
        most_denied=_callers(denied, denied_before),
        blocked=[
            BlockRow(*_split(name), until=datetime.fromtimestamp(until, UTC))
            for name, until in blocks
        ],
    )


def peek(policy: str, caller: str) -> Decision:
    """What remains to a caller of each limit of a policy; charges nothing."""
    return Limiter(get_redis()).peek(policies.get(policy), caller)


def blocked_until(policy: str, caller: str) -> datetime | None:
    score = get_redis().zscore(keys.blocks(), f"{policy}:{caller}")
    if score is None or score <= time():
        return None
    return datetime.fromtimestamp(score, UTC)


def policy_rows(outcomes: dict[bytes, bytes] | None = None) -> list[PolicyRow]:
    """Every policy in force, with the counts that Redis has for the day."""
    counts: dict[str, dict[str, int]] = {}
    for name, number in (outcomes or {}).items():
        policy, outcome = _split(name)
        counts.setdefault(policy, {})[outcome] = int(number)
    return [
        PolicyRow(
            policies.get(name),
            overridden=policies.get(name) != policies.configured(name),
            outcomes=counts.get(name, {}),
        )
        for name in policies.names()
    ]


def _callers(*hours: list[tuple[bytes, float]]) -> list[CallerRow]:
    total: Counter[bytes] = Counter()
    for rows in hours:
        for name, score in rows:
            total[name] += int(score)
    return [CallerRow(*_split(name), count) for name, count in total.most_common(SHOWN)]


def _split(name: Any) -> tuple[str, str]:
    policy, _, rest = name.decode().partition(":")
    return policy, rest
