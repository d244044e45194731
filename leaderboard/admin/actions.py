"""Actions of staff on a whole board: open or close a season, reset, rebuild, export."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.widgets import AdminSplitDateTime
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from config.redis.locks import LockTakenError
from config.web.streams import streamed
from leaderboard.access.audit import Actor
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


class ActionForm(forms.Form):
    """One action on a board: a page with a title, an explanation, fields and one button."""

    permission: str
    title: Any
    explain: Any
    button: Any
    other: tuple[Any, str] | None = None  # a link to another action: label and name

    def __init__(self, *args: Any, board: Board, **options: Any) -> None:
        super().__init__(*args, **options)
        self.board = board

    def run(self, actor: Actor) -> str:
        """Carry out the action. Return a sentence about it."""
        raise NotImplementedError


class OpenSeasonForm(ActionForm):
    permission = "manage_seasons"
    title = _("Open a season")
    explain = _("The board is between two seasons. Scores are refused until one is open.")
    button = _("Open")

    name = forms.CharField(
        label=_("Name"),
        max_length=120,
        required=False,
        help_text=_("Leave empty for a generated name."),
    )
    opens = forms.SplitDateTimeField(
        label=_("Opens"),
        required=False,
        widget=AdminSplitDateTime,
        help_text=_("Leave empty to open it now."),
    )
    closes = forms.SplitDateTimeField(
        label=_("Closes"),
        required=False,
        widget=AdminSplitDateTime,
        help_text=_("Leave empty to close it by hand or by the board's schedule."),
    )

    def __init__(self, *args: Any, board: Board) -> None:
        super().__init__(*args, board=board)
        current = pointer.current(board)
        if current is not None and current.is_open:
            self.explain = _("A season is running. The next one can open when it ends.")
        zone = _("Time in %(zone)s.") % {"zone": board.time_zone}
        for name in ("opens", "closes"):
            self.fields[name].help_text = f"{self.fields[name].help_text} {zone}"

    def run(self, actor: Actor) -> str:
        season = seasons.open_season(board=self.board, actor=actor, **self.cleaned_data)
        if season.state == Season.State.PLANNED:
            return gettext("%(season)s is planned.") % {"season": season.title}
        return gettext("%(season)s is open.") % {"season": season.title}


class CloseSeasonForm(ActionForm):
    permission = "manage_seasons"
    title = _("Close the running season")
    explain = _(
        "No more scores count for it. Its standings are archived and stay under past "
        "seasons. This cannot be undone."
    )
    button = _("Close the season")
    other = (_("Plan the next season"), "open_season")

    # The season on the page: another one must not be closed in its place.
    number = forms.IntegerField(widget=forms.HiddenInput)
    open_next = forms.BooleanField(
        label=_("Start the next season at the same moment"), required=False
    )

    def __init__(self, *args: Any, board: Board) -> None:
        current = pointer.current(board)
        initial = {
            "open_next": board.schedule != Board.Schedule.MANUAL,
            "number": current.number if current else 0,
        }
        super().__init__(*args, board=board, initial=initial)

    def run(self, actor: Actor) -> str:
        season = seasons.close_season(
            board=self.board, actor=actor, archive_now=False, **self.cleaned_data
        )
        return seasons.closing_sentence(season)


class ResetForm(ActionForm):
    permission = "reset_board"
    title = _("Reset the board")
    explain = _("Scores are deleted for good. The board and its rules stay.")
    button = _("Delete")

    scope = forms.ChoiceField(
        label=_("What"),
        widget=forms.RadioSelect,
        initial="season",
        choices=[
            ("season", _("The running season; past seasons and the score log stay")),
            ("live", _("All scores and the score log; final standings stay")),
            ("all", _("Everything, as if the board were new")),
        ],
    )
    slug = forms.CharField(label=_("Type the board's address to confirm"))

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug != self.board.slug:
            raise forms.ValidationError(
                _("That is not this board's address: %(slug)s.") % {"slug": self.board.slug}
            )
        return slug

    def run(self, actor: Actor) -> str:
        scope = self.cleaned_data["scope"]
        changing.reset_board(
            board=self.board,
            actor=actor,
            season_only=scope == "season",
            keep_archive=scope == "live",
        )
        return gettext("%(board)s is empty.") % {"board": self.board}


class RebuildForm(ActionForm):
    permission = "reset_board"
    title = _("Rebuild from the score log")
    explain = _(
        "Rebuilds the running season and its windows from the log in SQL and replaces them "
        "in one step. Scores are still accepted meanwhile."
    )
    button = _("Rebuild")

    check_only = forms.BooleanField(label=_("Only compare, change nothing"), required=False)
    allow_loss = forms.BooleanField(
        label=_("Allow losing entries that are not in the score log"),
        required=False,
        help_text=_("Otherwise, a rebuild that would lose entries is refused and lists them."),
    )

    def run(self, actor: Actor) -> str:
        report = changing.rebuild_board(
            board=self.board,
            actor=actor,
            check=self.cleaned_data["check_only"],
            allow_loss=self.cleaned_data["allow_loss"],
        )
        text = ngettext(
            "%(count)s entry differed from the score log.",
            "%(count)s entries differed from the score log.",
            report.count,
        )
        return " ".join([text % {"count": report.count}, *report.warnings])


class BoardActions:
    """Part of `BoardAdmin`."""

    admin_site: Any
    opts: Any

    def season_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Redirect to the action that is possible now. Closing and opening have an address each: a
        page that was left open for a while must not do the opposite."""
        board = require(request, pk, "manage_seasons")
        current = pointer.current(board)
        is_open = current is not None and current.is_open
        return HttpResponseRedirect(_address("close_season" if is_open else "open_season", board))

    def action_view(
        self, request: HttpRequest, pk: int, *, form_class: type[ActionForm]
    ) -> HttpResponse:
        board = require(request, pk, form_class.permission)
        with timezone.override(board.zone):  # for the fields' times, and their "Today" and "Now"
            form = form_class(request.POST if request.method == "POST" else None, board=board)
            if request.method == "POST" and form.is_valid():
                try:
                    text = form.run(Actor.of(request.user))
                except ValidationError as error:
                    form.add_error(None, error)
                except (ServiceError, LockTakenError) as error:
                    form.add_error(None, str(error))
                else:
                    messages.success(request, text)
                    return HttpResponseRedirect(_address("change", board))
            context = {
                **self.admin_site.each_context(request),
                "title": form.title,
                "opts": self.opts,
                "board": board,
                "form": form,
                "explain": form.explain,
                "button": form.button,
                "other": form.other and (form.other[0], _address(form.other[1], board)),
            }
            template = "admin/leaderboard/board/action.html"
            return TemplateResponse(request, template, context).render()

    @method_decorator(limit("export"))
    def export_view(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        board = require(request, pk, "view_board")
        form = request.GET.get("format", "csv")
        if form not in standings.FORMATS:
            raise Http404("Unknown format.")
        current = pointer.current(board)
        if current is None or not current.is_open:
            text = gettext("There is no open season. Past seasons have their own pages.")
            messages.info(request, text)
            return HttpResponseRedirect(reverse("seasons", args=[board.slug]))
        rows = standings.written(standings.live_entries(board, current.number), form)
        return streamed(request, rows, TYPES[form], f"{board.slug}.{form}")


def _address(name: str, board: Board) -> str:
    return reverse(f"admin:leaderboard_board_{name}", args=[board.pk])
