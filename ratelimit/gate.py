"""The limit of an address, charged before Django sees the request: an ASGI middleware."""

from __future__ import annotations

from io import BytesIO
from time import monotonic
from typing import Any

from django.core.handlers.asgi import ASGIRequest

from config.web.access_log import CLIENT
from config.web.problems import CONTENT_TYPE, wants_problem
from config.web.sending import send_json
from ratelimit import answers, callers, headers, policies, requests
from ratelimit.decision import Decision, Reason
from ratelimit.middleware import GATE_DECISION, default_policy

# Seconds. People who are refused get a page; a flood gets no more of Django's time than this.
PAGE_EVERY = 0.2


class Gate:
    """Charges each request to the policy of its address, on the event loop and without a thread.

    Unknown addresses, missing files and refused streams are charged like pages.
    `RateLimitMiddleware` does the same where no gate is in front (WSGI), and where a policy needs
    what only Django knows, such as the user.
    """

    def __init__(self, application: Any) -> None:
        self.application = application
        self._next_page = 0.0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        request = ASGIRequest(scope, BytesIO())
        scope[CLIENT] = callers.client_ip(request)
        name = default_policy(scope["path"])
        if name is None or not requests.needs_only_headers(policies.get(name)):
            await self.application(scope, receive, send)
            return
        decision = scope[GATE_DECISION] = await requests.acheck(request, name)
        if decision is None or decision.allowed or self._gets_page(request, decision):
            await self.application(scope, receive, send)
        else:
            problem, values = answers.problem(decision), headers.values([decision])
            await send_json(send, answers.STATUS, problem, values, content_type=CONTENT_TYPE)

    def _gets_page(self, request: ASGIRequest, decision: Decision) -> bool:
        """Whether Django refuses it with a page: one that counts down, or the outage's."""
        if decision.reason is Reason.OUTAGE:
            return True
        now = monotonic()
        if now < self._next_page or "text/html" not in request.headers.get("Accept", ""):
            return False
        self._next_page = now + PAGE_EVERY
        return not wants_problem(request)
