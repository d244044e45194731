"""Colour theme and language in cookies, and the templates of forms."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import check_for_language
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

THEMES = ("light", "dark")
COOKIE = "theme"
COOKIE_AGE = 365 * 24 * 3600


class FormRenderer(TemplatesSetting):
    """All forms look the same: `{{ form }}` is enough in a template."""

    form_template_name = "components/fields.html"
    field_template_name = "components/field.html"


def look(request: HttpRequest) -> dict[str, Any]:
    """Context processor: the theme chosen here, or "" for the system's; languages to choose."""
    theme = request.COOKIES.get(COOKIE, "")
    return {"theme": theme if theme in THEMES else "", "languages": settings.LANGUAGES}


# Both without a CSRF token, so that pages that need none stay free of its cookie. Browsers send the
# origin of a request; one too old for that could be made to change colours, no more.


@csrf_exempt
@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """The colour switch: a form with three buttons, so it needs no script."""
    response = _back(request)
    theme = request.POST.get("theme", "")
    if theme in THEMES:
        _set_cookie(request, response, COOKIE, theme)
    else:
        response.delete_cookie(COOKIE, samesite="Lax")
    return response


@csrf_exempt
@require_POST
def set_language(request: HttpRequest) -> HttpResponse:
    """The language switch; until it is used, the browser's languages decide."""
    response = _back(request)
    language = request.POST.get("language", "")
    if language in dict(settings.LANGUAGES) and check_for_language(language):
        _set_cookie(request, response, settings.LANGUAGE_COOKIE_NAME, language)
    return response


def _set_cookie(request: HttpRequest, response: HttpResponse, name: str, value: str) -> None:
    secure = request.is_secure()
    response.set_cookie(name, value, max_age=COOKIE_AGE, samesite="Lax", secure=secure)


def _back(request: HttpRequest) -> HttpResponseRedirect:
    """Redirect to the page with the switch, if it is on this site."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
        raise PermissionDenied
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, request.is_secure()):
        target = "/"
    return HttpResponseRedirect(target)
