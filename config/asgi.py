"""The entry of the web process: access log, body limit, native lane, limits, health, live streams,
and then Django."""

from __future__ import annotations

import gc
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)

from django.conf import settings  # noqa: E402

from config import processes  # noqa: E402
from config.web import shutdown  # noqa: E402
from config.web.access_log import AccessLog, BodyLimit  # noqa: E402
from config.web.handler import ThreadedASGIHandler  # noqa: E402
from config.web.health import Health  # noqa: E402
from leaderboard.api.hot.app import FastLane  # noqa: E402
from leaderboard.live.lane import LiveLane  # noqa: E402
from ratelimit.gate import Gate  # noqa: E402

processes.when_parent_stops(shutdown.begin)
pages = Gate(Health(LiveLane(ThreadedASGIHandler())))
application = AccessLog(BodyLimit(FastLane(pages), settings.LARGEST_BODY))

# Everything loaded so far stays in use. Scanning all of it for garbage again and again costs up to
# a third of the time of a request that creates many small objects.
gc.collect()
gc.freeze()
gc.set_threshold(10_000, 20, 20)

# A thread that renders a page gives way to the event loop after this long. Python's default of 5 ms
# adds up when several threads are busy; how much this gains is not measured.
sys.setswitchinterval(0.0005)
