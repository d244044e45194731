"""Redis is away: say so, keep the cookies, and recover without a restart."""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from config.redis import OUTAGE_ERRORS
from config.views import service_unavailable

logger = logging.getLogger("rostrum.outage")


class RedisOutageMiddleware(MiddlewareMixin):
    """Turns a Redis outage in a view into 503. One in another middleware (a session that could not
    be saved) never comes by here: Django gives it to `handler500`, which asks the same question.
    """

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, OUTAGE_ERRORS):
            return None
        logger.warning("Redis does not answer", extra={"error": type(error).__name__})
        return service_unavailable(request)
