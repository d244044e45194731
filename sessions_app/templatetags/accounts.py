"""Links to the account pages."""

from __future__ import annotations

from urllib.parse import urlencode

from django import template
from django.template.context import RequestContext
from django.urls import reverse

register = template.Library()


@register.simple_tag(takes_context=True)
def way_back(context: RequestContext) -> str:
    """The query of a sign-in link that brings people back to this page.

    Account pages pass on the `next` that they were given. js/page.js keeps the query current when
    htmx changes the address.
    """
    request = context["request"]
    target = context.get("next")
    if not target and not request.path.startswith(reverse("account")) and request.path != "/":
        target = request.get_full_path()
    return "?" + urlencode({"next": target}, safe="/") if target else ""
