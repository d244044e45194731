"""What staff do to a whole board: season, reset, rebuild, export."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from config.redis.locks import LockTakenError
from config.web.streams import streamed
from leaderboard.access.audit import Actor
from leaderboard.admin.forms import CloseSeasonForm, OpenSeasonForm, RebuildForm, ResetForm
from leaderboard.admin.standings import require
from leaderboard.boards import changing
from leaderboard.closing import seasons
from leaderboard.errors import ServiceError
from leaderboard.files import standings
from leaderboard.models import Board, Season
from leaderboard.seasons import pointer
from ratelimit.decorators import limit

TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "ndjson": "application/x-ndjson",
}


class BoardActions:
    """Part of `BoardAdmin`."""

    admin_site: Any
    opts: Any

    def season_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """To the page for what can be done now. Closing and opening have an address each: a page
        that was left open for a while must not do the opposite of what it says."""
        board = require(request, pk, "manage_seasons")
        at = pointer.current(board)
        deed = "close_season" if at is not None and at.is_open else "open_season"
        return HttpResponseRedirect(_address(deed, board))

    def open_season_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        board = require(request, pk, "manage_seasons")
        at = pointer.current(board)
        form = OpenSeasonForm(request.POST if request.method == "POST" else None, board=board)

        def do(actor: Actor) -> str:
            season = seasons.open_season(
                board=board, actor=actor, name=form.cleaned_data["name"], **form.times()
            )
            if season.state == Season.State.PLANNED:
                return _("%(season)s is planned.") % {"season": season.title}
            return _("%(season)s is open.") % {"season": season.title}

        explain = _("The board is between two seasons. Scores are refused until one is open.")
        if at is not None and at.is_open:
            explain = _("A season is running. The next one may open when it is over.")
        with timezone.override(board.zone):
            response = self._act(
                request,
                board,
                form,
                do,
                title=_("Open a season"),
                explain=explain,
                button=_("Open"),
            )
            # The fields' "Today" and "Now" follow the zone in which the page is made.
            return response.render() if isinstance(response, TemplateResponse) else response

    def close_season_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        board = require(request, pk, "manage_seasons")
        at = pointer.current(board)
        form = CloseSeasonForm(
            request.POST if request.method == "POST" else None,
            initial={
                "open_next": board.schedule != Board.Schedule.MANUAL,
                "number": at.number if at else 0,
            },
        )

        def do(actor: Actor) -> str:
            season = seasons.close_season(
                board=board,
                actor=actor,
                number=form.cleaned_data["number"],
                open_next=form.cleaned_data["open_next"],
                archive_now=False,
            )
            return seasons.closing_sentence(season)

        return self._act(
            request,
            board,
            form,
            do,
            title=_("Close the running season"),
            explain=_(
                "From now on no score counts for it. Its standings are archived and stay under "
                "past seasons. This cannot be undone."
            ),
            button=_("Close the season"),
            other=(_("Plan the next season"), _address("open_season", board)),
        )

    def reset_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        board = require(request, pk, "reset_board")
        form = ResetForm(request.POST if request.method == "POST" else None, board=board)

        def do(actor: Actor) -> str:
            scope = form.cleaned_data["scope"]
            changing.reset_board(
                board=board,
                actor=actor,
                season_only=scope == "season",
                keep_archive=scope == "live",
            )
            return _("%(board)s is empty.") % {"board": board}

        return self._act(
            request,
            board,
            form,
            do,
            title=_("Reset the board"),
            explain=_("Scores are deleted for good. The board and its rules stay."),
            button=_("Delete"),
        )

    def rebuild_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        board = require(request, pk, "reset_board")
        form = RebuildForm(request.POST if request.method == "POST" else None)

        def do(actor: Actor) -> str:
            report = changing.rebuild_board(
                board=board,
                actor=actor,
                check=form.cleaned_data["check_only"],
                allow_loss=form.cleaned_data["allow_loss"],
            )
            text = ngettext(
                "%(count)s entry differed from the score log.",
                "%(count)s entries differed from the score log.",
                report.count,
            )
            return " ".join([text % {"count": report.count}, *report.warnings])

        return self._act(
            request,
            board,
            form,
            do,
            title=_("Rebuild from the score log"),
            explain=_(
                "Makes the running season and its windows again from the log in SQL and swaps them "
                "in at once. Scores go on meanwhile."
            ),
            button=_("Rebuild"),
        )

    @method_decorator(limit("export"))
    def export_view(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        board = require(request, pk, "view_board")
        form = request.GET.get("format", "csv")
        if form not in standings.FORMATS:
            raise Http404("Unknown format.")
        at = pointer.current(board)
        if at is None or not at.is_open:
            messages.info(request, _("There is no open season; past ones have their own pages."))
            return HttpResponseRedirect(reverse("seasons", args=[board.slug]))
        rows = standings.written(standings.live_rows(board, at.number), form)
        return streamed(request, rows, TYPES[form], f"{board.slug}.{form}")

    def _act(
        self,
        request: HttpRequest,
        board: Board,
        form: forms.Form,
        do: Callable[[Actor], str],
        *,
        title: str,
        explain: str,
        button: str,
        other: tuple[str, str] | None = None,
    ) -> HttpResponse:
        """A page with a sentence, a form and one button, and perhaps a link to another deed."""
        if request.method == "POST" and form.is_valid():
            user: Any = request.user
            try:
                text = do(Actor.of(user))
            except ValidationError as error:
                form.add_error(None, error)
            except (ServiceError, LockTakenError) as error:
                form.add_error(None, str(error))
            else:
                messages.success(request, text)
                return HttpResponseRedirect(_address("change", board))
        context = {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.opts,
            "board": board,
            "form": form,
            "explain": explain,
            "button": button,
            "other": other,
        }
        return TemplateResponse(request, "admin/leaderboard/board/action.html", context)


def _address(name: str, board: Board) -> str:
    return reverse(f"admin:leaderboard_board_{name}", args=[board.pk])
