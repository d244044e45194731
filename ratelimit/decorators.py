"""`@limit("name")` for views, sync and async, class-based views and API operations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views import View

from ratelimit import answers, requests

V = TypeVar("V", bound=Callable[..., Any])

Condition = Callable[[HttpRequest], bool]


def limit(
    name: str, *, methods: Collection[str] = (), when: Condition | None = None
) -> Callable[[V], V]:
    """Charge each request to the policy `name` before the view runs; refuse it with 429.

    With `methods`, only requests by these; with `when`, only those for which it is true. Works on
    functions, coroutines, class-based views, and on the operations of an API, where it belongs
    below the route.
    """
    wanted = frozenset(method.upper() for method in methods)

    def decorate(view: Any) -> Any:
        if isinstance(view, type) and issubclass(view, View):
            return _decorate_class(view, decorate)

        def applies(request: HttpRequest) -> bool:
            return (not wanted or request.method in wanted) and (when is None or when(request))

        if iscoroutinefunction(view):

            @functools.wraps(view)
            async def async_limited(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
                if applies(request):
                    decision = await requests.acheck(request, name)
                    if decision is not None and not decision.allowed:
                        return answers.refusal(request, decision)
                try:
                    response = await view(request, *args, **kwargs)
                except BaseException:
                    await sync_to_async(requests.abandon)(request)
                    raise
                return _finished(request, response)

            limited: Any = async_limited
        else:

            @functools.wraps(view)
            def sync_limited(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
                if applies(request):
                    decision = requests.check(request, name)
                    if decision is not None and not decision.allowed:
                        return answers.refusal(request, decision)
                try:
                    response = view(request, *args, **kwargs)
                except BaseException:
                    requests.abandon(request)
                    raise
                return _finished(request, response)

            limited = sync_limited
        return limited

    return decorate


def _finished(request: HttpRequest, response: Any) -> Any:
    # An API operation returns data: its response does not exist yet, the middleware finishes it.
    if isinstance(response, HttpResponseBase):
        requests.finish(request, response)
    return response


def _decorate_class(view: type[View], decorate: Callable[[Any], Any]) -> type[View]:
    """Limit the function that `as_view()` returns, for sync and async classes alike."""
    undecorated = view.as_view.__func__  # type: ignore[attr-defined]

    def as_view(cls: type[View], /, **initkwargs: Any) -> Any:
        return decorate(undecorated(cls, **initkwargs))

    view.as_view = classmethod(as_view)  # type: ignore[assignment]
    return view
