"""The look's server side: the colour theme in a cookie, and how forms are drawn."""

from __future__ import annotations

from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

THEMES = ("light", "dark")
COOKIE = "theme"
COOKIE_AGE = 365 * 24 * 3600


class FormRenderer(TemplatesSetting):
    """Every form of ours looks the same: `{{ form }}` is enough in a template."""

    form_template_name = "components/fields.html"
    field_template_name = "components/field.html"


def look(request: HttpRequest) -> dict[str, str]:
    """Context processor: the theme chosen here, or "" for the system's."""
    theme = request.COOKIES.get(COOKIE, "")
    return {"theme": theme if theme in THEMES else ""}


# Without a CSRF token: the worst a stranger's page can do is to change your colours, and pages
# that need no token stay free of its cookie.
@csrf_exempt
@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """The colour switch: a form with three buttons, so it needs no script."""
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, request.is_secure()):
        target = "/"
    response = HttpResponseRedirect(target)
    theme = request.POST.get("theme", "")
    if theme in THEMES:
        response.set_cookie(
            COOKIE, theme, max_age=COOKIE_AGE, samesite="Lax", secure=request.is_secure()
        )
    else:
        response.delete_cookie(COOKIE, samesite="Lax")
    return response
