"""The end of the web process, for code that keeps a response open.

A live stream waits for its next event or for `wait()`, whichever comes first; otherwise one open
page would keep the server running until it is killed.
"""

from __future__ import annotations

import asyncio
import threading
from weakref import WeakKeyDictionary

_begun = threading.Event()
_lock = threading.Lock()
_events: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Event] = WeakKeyDictionary()


def begin() -> None:
    """From any thread: the process is about to end."""
    with _lock:
        _begun.set()
        events = list(_events.items())
    for loop, event in events:
        if not loop.is_closed():
            loop.call_soon_threadsafe(event.set)


def begun() -> bool:
    return _begun.is_set()


async def wait() -> None:
    """Return when the process is about to end."""
    loop = asyncio.get_running_loop()
    with _lock:
        event = _events.setdefault(loop, asyncio.Event())
        if _begun.is_set():
            event.set()
    await event.wait()
