"""The web server: a bare view through Django's own ASGI handler and through ours.

Both are called in this process with a scope made by hand, so that only the handlers differ.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from bench.harness import Report, compare, pinned
from tests.asgi import ask

CONCURRENT = 8


def bare_view(request: Any) -> Any:
    from django.http import HttpResponse

    return HttpResponse("ok")


def run(report: Report) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django
    from django.conf import settings
    from django.urls import path

    django.setup()
    # Nothing but the handler and the view: no middleware, one address.
    settings.MIDDLEWARE = []
    settings.ROOT_URLCONF = type("urls", (), {"urlpatterns": [path("", bare_view)]})

    from django.core.handlers.asgi import ASGIHandler

    from config.web.handler import ThreadedASGIHandler

    loop = asyncio.new_event_loop()

    def asked(handler: Any) -> Any:
        async def several() -> None:
            await asyncio.gather(*(ask(handler) for _ in range(CONCURRENT)))

        return lambda: loop.run_until_complete(several())

    with pinned():
        result = compare(
            {"Django's handler": asked(ASGIHandler()), "ours": asked(ThreadedASGIHandler())},
            rounds=21,
        )
    ratio = result.speed_ratio("ours", "Django's handler")
    report.table(
        ["bare view, 8 at once, one CPU", "requests/s", "ratio"],
        [
            [name, f"{result.per_second(name) * CONCURRENT:,.0f}", cell]
            for name, cell in (
                ("Django's handler", "1"),
                ("ours", report.verdict("bare view through our handler", ratio, at_least=2)),
            )
        ],
    )
    loop.close()
