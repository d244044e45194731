"""The limits of a request: its caller, its cost, exemptions and decisions."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

from config.sql import ask_sql
from ratelimit import answers, callers, guard, leases, metrics, policies
from ratelimit.decision import Decision
from ratelimit.metrics import Outcome
from ratelimit.policy import Policy

_ATTRIBUTE = "_rate_limits"
# These need headers only; everything else may query the database, which takes a thread.
_QUICK = frozenset({"ip", "api_key", "everyone"})


@dataclass
class _Record:
    """The decisions and leases of one request."""

    decisions: list[Decision] = field(default_factory=list)
    leases: list[tuple[str, str, str]] = field(default_factory=list)  # policy, caller, lease


@dataclass(frozen=True)
class _Charge:
    """What a request is about to be charged."""

    caller: str
    cost: int
    lease: str


def check(request: HttpRequest, name: str) -> Decision | None:
    """Charge the request to a policy; None when its caller is exempt."""
    charge = _charge(request, policies.get(name))
    if charge is None:
        return None
    decision = guard.hit(name, charge.caller, charge.cost, lease=charge.lease)
    return _recorded(request, charge, decision)


async def acheck(request: HttpRequest, name: str) -> Decision | None:
    """The asynchronous twin of `check`."""
    charge = await _acharge(request, policies.get(name))
    if charge is None:
        return None
    decision = await guard.ahit(name, charge.caller, charge.cost, lease=charge.lease)
    return _recorded(request, charge, decision)


@asynccontextmanager
async def hold(request: HttpRequest, name: str) -> AsyncIterator[bool]:
    """Hold a place "at once" for as long as the block lasts; false when there is none.

    For what outlives a view, such as a stream; the caller of this adds headers and refuses.
    """
    charge = await _acharge(request, policies.get(name))
    if charge is None:
        yield True
        return
    async with leases.hold(name, charge.caller) as decision:
        yield decision.allowed


def decisions(request: HttpRequest) -> list[Decision]:
    """The decisions made so far for this request, in order."""
    return _record(request).decisions


def finish(request: HttpRequest, response: HttpResponseBase) -> None:
    """Add the headers, and give places "at once" back when the response has been sent."""
    record = _record(request)
    answers.add_headers(response, record.decisions)
    while record.leases:
        # Django closes the response after the last byte of a stream, or when its reader leaves.
        give_back = partial(guard.release, *record.leases.pop())
        response._resource_closers.append(give_back)  # type: ignore[attr-defined]


def abandon(request: HttpRequest) -> None:
    """The view failed: there will be no response of its own to close."""
    record = _record(request)
    while record.leases:
        guard.release(*record.leases.pop())


def _record(request: HttpRequest) -> _Record:
    record: _Record = request.__dict__.setdefault(_ATTRIBUTE, _Record())
    return record


def _charge(request: HttpRequest, policy: Policy) -> _Charge | None:
    """None when the caller is exempt."""
    caller = callers.of(request, policy.by)
    if policy.exempt and _is_exempt(request, policy):
        metrics.count(policy.name, caller, Outcome.EXEMPT)
        return None
    if isinstance(policy.cost, int):
        cost = policy.cost
    else:
        cost = max(1, import_string(policy.cost)(request))
    return _Charge(caller, cost, secrets.token_hex(8) if policy.has_leases else "")


async def _acharge(request: HttpRequest, policy: Policy) -> _Charge | None:
    if _is_quick(policy):
        return _charge(request, policy)
    return await ask_sql(_charge, request, policy)


def needs_only_headers(policy: Policy) -> bool:
    """Whether the policy can be charged before Django sees the request: no user, no session, no
    lease that the response would have to give back."""
    return _is_quick(policy) and not policy.has_leases


def _is_quick(policy: Policy) -> bool:
    return (
        _QUICK.issuperset(policy.by) and not policy.exempt.groups and isinstance(policy.cost, int)
    )


def is_exempt_address(policy: Policy, address: str) -> bool:
    """Whether the policy exempts the network of this address."""
    return address != callers.UNKNOWN and any(
        ip_address(address) in network for network in policy.exempt.networks
    )


def _is_exempt(request: HttpRequest, policy: Policy) -> bool:
    exempt = policy.exempt
    if exempt.networks and is_exempt_address(policy, callers.client_ip(request)):
        return True
    if exempt.api_keys:
        api_key = callers.api_key_of(request.headers)
        if api_key and callers.fingerprint(api_key) in exempt.api_keys:
            return True
    if exempt.groups:
        user = getattr(request, "user", None)
        if user is not None and user.is_authenticated:
            return bool(user.groups.filter(name__in=exempt.groups).exists())
    return False


def _recorded(request: HttpRequest, charge: _Charge, decision: Decision) -> Decision:
    record = _record(request)
    record.decisions.append(decision)
    if charge.lease and decision.allowed:
        record.leases.append((decision.policy.name, charge.caller, charge.lease))
    return decision
