"""Features that are off, on, on for a share of visitors, or on for named users.

SQL has what the admin edits, Redis a copy of it, and each process a copy of that, at most three
seconds old. So most requests query neither.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest

from config.redis import locks
from config.redis.connections import get_redis
from sessions_app import keys, visitors
from sessions_app.models import Flag

FRESH_FOR = 3.0  # seconds
COPY_KEPT = 24 * 3600
# Without it, the copy of an installation without flags would be empty, and made again each time.
_MARK = b""


@dataclass(frozen=True)
class FlagState:
    """One flag as a process knows it."""

    state: str
    percentage: int
    version: str
    users: bytes = b""

    def names(self, user_id: int) -> bool:
        byte, bit = divmod(user_id, 8)
        return byte < len(self.users) and bool(self.users[byte] & (0x80 >> bit))


@dataclass
class _Known:
    """What this process knows, and since when."""

    flags: dict[str, FlagState] = field(default_factory=dict)
    until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


_known = _Known()


def flag_enabled(name: str, request: HttpRequest) -> bool:
    """Whether the feature is on for the sender of the request. An unknown flag is off."""
    flag = current().get(name)
    if flag is None or flag.state == Flag.State.OFF:
        return False
    if flag.state == Flag.State.ON:
        return True
    user = request.user
    if user.is_authenticated and flag.names(user.pk):
        return True
    if flag.state != Flag.State.PERCENTAGE:
        return False
    who = f"u:{user.pk}" if user.is_authenticated else visitors.visitor_id(request)
    return bucket(name, who) < flag.percentage


def bucket(name: str, who: str) -> int:
    """0 to 99, stable, and different for each flag: not always the same people come first."""
    digest = hashlib.sha256(f"{name}:{who}".encode()).digest()
    return int.from_bytes(digest[:8]) % 100


def flag_required(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a view: without the feature the page is not found."""

    def decorate(view: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(view)
        def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if not flag_enabled(name, request):
                raise Http404
            return view(request, *args, **kwargs)

        return wrapped

    return decorate


def current() -> dict[str, FlagState]:
    """All flags, at most three seconds old."""
    if time.monotonic() >= _known.until:
        with _known.lock:
            if time.monotonic() >= _known.until:
                _known.flags = _refresh()
                _known.until = time.monotonic() + FRESH_FOR
    return _known.flags


def forget() -> None:
    """Read the flags again when one is next needed."""
    _known.until = 0.0


def _refresh() -> dict[str, FlagState]:
    copy = get_redis().hgetall(keys.flags())
    if not copy:
        publish()
        copy = get_redis().hgetall(keys.flags())
    states = {
        name.decode(): FlagState(**json.loads(text)) for name, text in copy.items() if name != _MARK
    }
    return _with_users(states)


def _with_users(states: dict[str, FlagState]) -> dict[str, FlagState]:
    """Fetch the bitmaps of those flags that changed and that name anybody."""
    changed = []
    for name, flag in states.items():
        before = _known.flags.get(name)
        if before is not None and before.version == flag.version:
            states[name] = before
        elif flag.state in {Flag.State.PERCENTAGE, Flag.State.USERS}:
            changed.append(name)
    bitmaps = get_redis().mget([keys.flag_users(name) for name in changed]) if changed else []
    for name, bitmap in zip(changed, bitmaps, strict=True):
        states[name] = replace(states[name], users=bitmap or b"")
    return states


def publish() -> None:
    """Copy all flags from SQL to Redis; for every change, and when the copy is gone."""
    # One at a time: the last writer is also the last reader.
    with locks.hold("flags", timeout=5, wait=5):
        fields: dict[Any, Any] = {_MARK: b""}
        with get_redis().pipeline(transaction=False) as pipe:
            for flag in Flag.objects.all():
                users = _bitmap(flag.users.values_list("pk", flat=True))
                state = {"state": flag.state, "percentage": flag.percentage}
                version = hashlib.sha256(json.dumps(state).encode() + users).hexdigest()[:16]
                fields[flag.name] = json.dumps(state | {"version": version})
                pipe.set(keys.flag_users(flag.name), users, ex=COPY_KEPT + 60)
            pipe.delete(keys.flags())
            pipe.hset(keys.flags(), mapping=fields)
            pipe.expire(keys.flags(), COPY_KEPT)
            pipe.execute()
    forget()


def _bitmap(user_ids: Iterable[int]) -> bytes:
    """The bits as SETBIT would set them, made here so that Redis gets them all at once."""
    bits = bytearray()
    for user_id in user_ids:
        byte, bit = divmod(user_id, 8)
        if byte >= len(bits):
            bits.extend(bytes(byte + 1 - len(bits)))
        bits[byte] |= 0x80 >> bit
    return bytes(bits)
