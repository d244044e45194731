"""RateLimit, RateLimit-Policy and Retry-After as plain strings, by the IETF's draft
(draft-ietf-httpapi-ratelimit-headers). Needs no request."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import ceil

from ratelimit.algorithms import Algorithm
from ratelimit.decision import Decision, Reason
from ratelimit.policy import Limit, Policy

# The draft's problem types for a 429.
QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded"
ABNORMAL_USAGE = "https://iana.org/assignments/http-problem-types#abnormal-usage-detected"


@lru_cache(maxsize=256)
def limit_names(policy: Policy) -> tuple[str, ...]:
    """The name of each limit in the headers: `search`, or `search-second` and `search-day`."""
    if len(policy.limits) == 1:
        return (policy.name,)
    labels = [limit.label for limit in policy.limits]
    return tuple(
        f"{policy.name}-{label}" if labels.count(label) == 1 else f"{policy.name}-{label}-{number}"
        for number, label in enumerate(labels, 1)
    )


@lru_cache(maxsize=256)
def policy_value(policy: Policy) -> str:
    """The part of RateLimit-Policy for one policy."""
    pairs = zip(limit_names(policy), policy.limits, strict=True)
    return ", ".join(f'"{name}";{_quota(limit)}' for name, limit in pairs)


def _quota(limit: Limit) -> str:
    if limit.algorithm is Algorithm.AT_ONCE:
        return f'q={limit.count};qu="concurrent-requests"'
    # With a burst: as much as fits at once, and how long that takes to come back.
    return f"q={limit.capacity};w={ceil(limit.capacity * limit.window / limit.count)}"


def _state_items(decision: Decision) -> str:
    pairs = zip(limit_names(decision.policy), decision.limit_states, strict=True)
    return ", ".join(
        f'"{name}";r={state.remaining};t={ceil(state.reset_after)}' for name, state in pairs
    )


def values(decisions: Iterable[Decision]) -> dict[str, str]:
    """The headers for these decisions: on allowed answers too, Retry-After only when denied.

    A shadow policy is not shown, and neither is one that decided without its limits.
    """
    decisions = list(decisions)
    shown = [d for d in decisions if d.limit_states and not d.policy.shadow]
    headers = {}
    if shown:
        headers["RateLimit-Policy"] = ", ".join(policy_value(d.policy) for d in shown)
        headers["RateLimit"] = ", ".join(_state_items(d) for d in shown)
    waits = [d.retry_after for d in decisions if not d.allowed]
    if waits:
        headers["Retry-After"] = str(retry_after(max(waits)))
    return headers


def retry_after(seconds: float) -> int:
    return max(1, ceil(seconds))


def violated(decision: Decision) -> list[str]:
    """The names of the limits that denied."""
    if not decision.limit_states:
        return [decision.policy.name]
    pairs = zip(limit_names(decision.policy), decision.limit_states, strict=True)
    return [name for name, state in pairs if state.retry_after > 0]


def problem_type(decision: Decision) -> str:
    return ABNORMAL_USAGE if decision.reason is Reason.BLOCK else QUOTA_EXCEEDED
