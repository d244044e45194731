"""Where a user is signed in, and signing out other devices.

A device is a session as its owner sees it. All of this reads the user's index; nothing scans the
sessions of all users.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import IPv4Address, ip_address
from typing import Any

import ua_parser
from django.http import HttpRequest

from config.redis.calls import Batch, Call, Command, Steps
from config.redis.connections import get_redis, perform
from ratelimit.callers import client_ip
from sessions_app import keys
from sessions_app.backend import (
    DELETE,
    DROP,
    LIST,
    SESSIONS_PER_USER,
    SessionStore,
    end_session,
    entries,
)

LONGEST_AGENT = 300
_FIELDS = ("started", "active", "agent", "address")

# The session of the current request, for code that is not given the request: a user who changes
# their own password stays signed in.
current_session: ContextVar[SessionStore | None] = ContextVar("current_session", default=None)


@dataclass(frozen=True)
class Device:
    """One signed-in browser. `digest` identifies its session without revealing the session id."""

    digest: str
    browser: str
    system: str
    address: str
    started: datetime
    active: datetime
    is_current: bool


def describe_client(request: HttpRequest) -> dict[str, str]:
    """The fields of a session that describe the browser."""
    agent = request.headers.get("User-Agent", "")[:LONGEST_AGENT]
    return {"agent": agent, "address": shorten_address(client_ip(request))}


def shorten_address(address: str) -> str:
    """Enough to recognise your own network, too little to find a person: 203.0.113.…"""
    try:
        parsed = ip_address(address)
    except ValueError:
        return ""
    if isinstance(parsed, IPv4Address):
        return address.rpartition(".")[0] + ".…"
    return ":".join(parsed.exploded.split(":")[:3]) + ":…"


@lru_cache(maxsize=1024)
def name_client(agent: str) -> tuple[str, str]:
    """Browser and system by the User-Agent header, empty when they are not known."""
    result = ua_parser.parse(agent)
    browser, system = result.user_agent, result.os
    name = " ".join(filter(None, [browser.family, browser.major])) if browser else ""
    return name, system.family if system else ""


def list_devices(user_id: Any, *, current: str = "") -> list[Device]:
    """Where the user is signed in: this device first, then by last use."""
    client, index = get_redis(), [keys.user_sessions(str(user_id))]
    found = entries(LIST(client, index, [2 * SESSIONS_PER_USER]))
    reads = [Command("HMGET", keys.session(digest), *_FIELDS) for digest, _ in found]
    devices: list[Device] = []
    lost: list[str] = []
    for (digest, score), row in zip(found, Batch(reads).send(client), strict=True):
        if row[0] is None:
            lost += (digest, score)
        else:
            devices.append(_device(digest, row, current))
    if lost:
        DROP(client, index, lost)
    return sorted(devices, key=lambda device: (device.is_current, device.active), reverse=True)


def _device(digest: str, row: list[Any], current: str) -> Device:
    started, active, agent, address = ((value or b"").decode(errors="replace") for value in row)
    browser, system = name_client(agent)
    return Device(
        digest=digest,
        browser=browser,
        system=system,
        address=address,
        started=datetime.fromtimestamp(int(started), UTC),
        active=datetime.fromtimestamp(int(active or started), UTC),
        is_current=digest == current,
    )


def sign_out(user_id: Any, digest: str) -> bool:
    """Sign out one device of the user; False when it is not theirs or already out."""
    return perform(end_session(digest, str(user_id)))


def sign_out_all(user_id: Any, *, keep: str = "") -> int:
    """Sign out everywhere, but for the session `keep`; returns how many were signed in."""
    return perform(_sign_out_all(str(user_id), keep))


def _sign_out_all(user_id: str, keep: str) -> Steps[int]:
    index = [keys.user_sessions(user_id)]
    ended = 0
    while True:
        found = entries((yield Call(LIST, index, [SESSIONS_PER_USER + 1])))
        found = [(digest, score) for digest, score in found if digest != keep]
        # A session whose key is being rotated was in the index before its old key went away, so
        # looking until nothing is left catches it; see `SessionStore._cycle_key` for the rest.
        if not found:
            return ended
        # Each session in the index is deleted, even when its sign-in has not been written yet.
        replies = yield Batch(
            [
                Call(DELETE, [keys.session(digest)], [digest, keys.sessions_ended(), ""])
                for digest, _ in found
            ]
        )
        ended += sum(reply is not None for reply in replies)
        yield Call(DROP, index, [text for entry in found for text in entry])
