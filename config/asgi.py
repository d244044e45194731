"""The one entry of the web process: access log, body limit, Django with its threads reused."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django
from asgiref.sync import ThreadSensitiveContext
from django.core.handlers.asgi import ASGIHandler


class ReusingASGIHandler(ASGIHandler):
    """Django's handler starts two threads for every request; this one lends them.

    A request still has a single thread for all its synchronous code, as Django needs, but gives it
    back afterwards. Last in, first out: the warmest thread, with its database connection, is
    taken again, and as many exist as requests were ever served at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self._idle: deque[ThreadPoolExecutor] = deque()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise ValueError(f"Rostrum serves HTTP, not {scope['type']}.")
        executor = (
            self._idle.pop()
            if self._idle
            else ThreadPoolExecutor(max_workers=1, thread_name_prefix="django")
        )
        try:
            async with ThreadSensitiveContext(executor=executor):
                await self.handle(scope, receive, send)
        finally:
            self._idle.append(executor)


django.setup(set_prefix=False)

from django.conf import settings  # noqa: E402

from config import processes, shutdown  # noqa: E402
from config.access import AccessLog, BodyLimit  # noqa: E402

processes.when_parent_stops(shutdown.begin)
application = AccessLog(BodyLimit(ReusingASGIHandler(), settings.LARGEST_BODY))
