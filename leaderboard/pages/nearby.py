"""Players near a place, which is typed or comes from the browser, and sharing one's own place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from leaderboard import presentation
from leaderboard.access.people import player_id_of
from leaderboard.boards import nearby
from leaderboard.boards.enrolment import ensure_player
from leaderboard.boards.nearby import NearbyEntry
from leaderboard.models import Board
from leaderboard.pages.parameters import find_board
from ratelimit.decorators import limit
from sessions_app.flags import flag_required

LIMIT = 50
DEFAULT_RADIUS = 50  # km


class PlaceForm(forms.Form):
    """A place to search around."""

    lat = forms.FloatField(
        label=_("Latitude"),
        min_value=-nearby.NORTHMOST,
        max_value=nearby.NORTHMOST,
        error_messages=dict.fromkeys(("min_value", "max_value"), _("From -85 to 85.")),
    )
    lon = forms.FloatField(
        label=_("Longitude"),
        min_value=-180,
        max_value=180,
        error_messages=dict.fromkeys(("min_value", "max_value"), _("From -180 to 180.")),
    )
    radius = forms.FloatField(
        label=_("Within, in km"), min_value=1, max_value=20_000, initial=DEFAULT_RADIUS
    )
    by = forms.ChoiceField(
        label=_("Order"),
        choices=[("distance", _("Nearest first")), ("rank", _("Best first"))],
        initial="distance",
    )


@require_http_methods(["GET", "HEAD", "POST"])
@flag_required("nearby")
@limit("search")
def nearby_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Players near the place in the address. A POST shares the reader's place or deletes it."""
    board = find_board(request, slug)
    if request.method == "POST":
        return _share(request, board)
    me = player_id_of(request.user)
    own = nearby.place_of(board, me) if me is not None else None
    # A shared place is the default.
    asked = request.GET.dict()
    if "lat" not in asked and own is not None:
        asked = {"lat": str(own[0]), "lon": str(own[1])}
    form = PlaceForm(_with_defaults(asked) if "lat" in asked else None)
    lines = None
    if form.is_bound and form.is_valid():
        place = form.cleaned_data
        lines = [_line(board, one) for one in nearby.find(board, **place, limit=LIMIT)]
    context = {"board": board, "form": form, "lines": lines, "sharing": own is not None}
    return render(request, "leaderboard/nearby.html", context)


def _with_defaults(asked: Mapping[str, str]) -> dict[str, str]:
    """In an address, `radius` and `by` may be missing or empty."""
    defaults = {"radius": str(DEFAULT_RADIUS), "by": "distance"}
    return defaults | {name: value for name, value in asked.items() if value}


def _share(request: HttpRequest, board: Board) -> HttpResponse:
    if not request.user.is_authenticated:
        raise PermissionDenied
    player = ensure_player(user=request.user)
    address = reverse("nearby", args=[board.slug])
    if "forget" in request.POST:
        nearby.forget(board, player.pk)
        messages.success(request, gettext("Your location was deleted."))
        return redirect(address)
    form = PlaceForm(_with_defaults(request.POST.dict()))
    if not form.is_valid():
        messages.error(request, gettext("That is not a location on the map."))
        return redirect(address)
    place = nearby.share(board, player.pk, form.cleaned_data["lat"], form.cleaned_data["lon"])
    text = gettext("Your location is shared for 30 days, rounded to about a kilometre.")
    messages.success(request, text)
    return redirect(f"{address}?{urlencode({'lat': place.lat, 'lon': place.lon})}")


def _line(board: Board, entry: NearbyEntry) -> dict[str, Any]:
    distance = gettext("%s km") % number_format(entry.distance, 1, use_l10n=True)
    return {"line": presentation.line(board, entry), "distance": distance}
