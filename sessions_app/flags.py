"""Features that are off, on, on for a share of visitors, or on for named users.

SQL holds what the admin edits; Redis holds a copy that every process reads again after three
seconds; the process holds that. A request asks none of them unless the three seconds are over.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest

from config.redis import locks
from config.redis.calls import Batch, Command, Steps, perform
from sessions_app import keys, visitors
from sessions_app.models import Flag

FRESH_FOR = 3.0  # seconds
COPY_KEPT = 24 * 3600
# The copy of an installation without flags is not empty, or it would be made anew each time.
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
    """Whether the feature is there for whoever sent the request. An unknown flag is off."""
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


aflag_enabled = sync_to_async(flag_enabled)


def bucket(name: str, who: str) -> int:
    """0 to 99, the same for ever, and another for each flag: not always the same people first."""
    digest = hashlib.sha256(f"{name}:{who}".encode()).digest()
    return int.from_bytes(digest[:8]) % 100


def flag_required(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a view, sync or async: without the feature there is no such page."""

    def decorate(view: Callable[..., Any]) -> Callable[..., Any]:
        if iscoroutinefunction(view):

            @wraps(view)
            async def asking(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
                if not await aflag_enabled(name, request):
                    raise Http404
                return await view(request, *args, **kwargs)

        else:

            @wraps(view)
            def asking(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
                if not flag_enabled(name, request):
                    raise Http404
                return view(request, *args, **kwargs)

        return asking

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
    """Read again at the next question."""
    _known.until = 0.0


def _refresh() -> dict[str, FlagState]:
    copy = perform(_read_copy())
    if not copy:
        publish()
        copy = perform(_read_copy())
    states = {
        name.decode(): FlagState(**json.loads(text)) for name, text in copy.items() if name != _MARK
    }
    return perform(_with_users(states))


def _read_copy() -> Steps[dict[bytes, bytes]]:
    copy: dict[bytes, bytes] = yield Command("HGETALL", keys.flags())
    return copy


def _with_users(states: dict[str, FlagState]) -> Steps[dict[str, FlagState]]:
    """Fetch the bitmaps of those flags that changed and that name anybody."""
    changed = []
    for name, flag in states.items():
        before = _known.flags.get(name)
        if before is not None and before.version == flag.version:
            states[name] = before
        elif flag.state in {Flag.State.PERCENTAGE, Flag.State.USERS}:
            changed.append(name)
    bitmaps = yield Batch([Command("GET", keys.flag_users(name)) for name in changed])
    for name, bitmap in zip(changed, bitmaps, strict=True):
        flag = states[name]
        states[name] = FlagState(flag.state, flag.percentage, flag.version, bitmap or b"")
    return states


def publish() -> None:
    """Copy all flags from SQL to Redis; for every change, and when the copy is gone."""
    # One at a time: who writes last has read last.
    with locks.hold("flags", timeout=5, wait=5):
        named = {flag: flag.users.values_list("pk", flat=True) for flag in Flag.objects.all()}
        perform(_write_copy({flag: _bitmap(user_ids) for flag, user_ids in named.items()}))
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


def _write_copy(flags: dict[Flag, bytes]) -> Steps[None]:
    fields: list[Any] = [_MARK, b""]
    commands = []
    for flag, users in flags.items():
        state = {"state": flag.state, "percentage": flag.percentage}
        version = hashlib.sha256(json.dumps(state).encode() + users).hexdigest()[:16]
        fields += [flag.name, json.dumps(state | {"version": version})]
        commands.append(Command("SET", keys.flag_users(flag.name), users, "EX", COPY_KEPT + 60))
    commands += [
        Command("DEL", keys.flags()),
        Command("HSET", keys.flags(), *fields),
        Command("EXPIRE", keys.flags(), COPY_KEPT),
    ]
    yield Batch(commands)
