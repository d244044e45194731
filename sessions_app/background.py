"""Small work that a response must not wait for, because the time would reveal a secret."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import close_old_connections

logger = logging.getLogger("rostrum.background")
_executor = ThreadPoolExecutor(max_workers=2, thread_name_prefix="background")


def run(work: Callable[[], None]) -> None:
    """Run it on another thread and log errors. Lost when the process is killed."""
    if settings.WORK_IN_BACKGROUND:
        _executor.submit(_do, work)
    else:
        _do(work)


def _do(work: Callable[[], None]) -> None:
    try:
        work()
    except Exception:
        logger.exception("Work in the background failed")
    finally:
        if settings.WORK_IN_BACKGROUND:
            close_old_connections()
