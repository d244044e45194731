"""`{% load flags %}{% flag "nearby" as nearby %}{% if nearby %}…{% endif %}`"""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context

from sessions_app.flags import flag_enabled

register = template.Library()


@register.simple_tag(takes_context=True)
def flag(context: Context, name: str) -> bool:
    request: Any = context.get("request")
    return request is not None and flag_enabled(name, request)
