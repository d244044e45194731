"""Boards: their rules, and the effects of a change on a running season."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from config.redis.locks import LockTakenError
from leaderboard.access import audit, rights
from leaderboard.access.audit import Actor
from leaderboard.admin.actions import (
    ActionForm,
    BoardActions,
    CloseSeasonForm,
    OpenSeasonForm,
    RebuildForm,
    ResetForm,
)
from leaderboard.admin.forms import BoardForm
from leaderboard.admin.standings import BoardStandings
from leaderboard.boards import changing
from leaderboard.boards.changing import REORDERING, begin
from leaderboard.boards.facts import board_facts
from leaderboard.errors import ServiceError
from leaderboard.models import Board, ScoreEvent, Season


@admin.register(Board)
class BoardAdmin(BoardStandings, BoardActions, admin.ModelAdmin):  # type: ignore[type-arg]
    form = BoardForm
    change_form_template = "admin/leaderboard/board/change_form.html"
    list_display = ["name", "page", "season", "players", "memory", "visibility"]
    list_filter = ["visibility", "submitters", "schedule"]
    search_fields = ["name", "slug", "description"]
    autocomplete_fields = ["members"]  # a list of all accounts may be very long
    fieldsets = [
        (None, {"fields": ["name", "slug", "description"]}),
        (
            _("Ranking"),
            {
                "fields": ["order", "operator", "ties", "ranking", "subscore_order"],
                "description": _(
                    "How players are ranked. Changing the order, equal scores, places or "
                    "second number rebuilds a running season from its score log; you are asked "
                    "to confirm first."
                ),
            },
        ),
        (
            _("Limits"),
            {
                "fields": [
                    "max_entries",
                    "lowest_score",
                    "highest_score",
                    "largest_step",
                    "first_step",
                ]
            },
        ),
        (_("Views"), {"fields": ["windows", "groups"]}),
        (
            _("Seasons"),
            {
                "fields": ["schedule", "cron", "time_zone"],
                "description": _(
                    "When a season ends, its standings are archived and the next one begins empty."
                ),
            },
        ),
        (_("Score"), {"fields": ["score_format", "score_decimals", "unit"]}),
        (_("People"), {"fields": ["visibility", "members", "submitters"]}),
        (_("Safety"), {"fields": ["durability", "history_days"]}),
    ]

    def get_readonly_fields(self, request: HttpRequest, obj: Board | None = None) -> list[str]:
        return ["slug"] if obj else []

    def get_prepopulated_fields(
        self, request: HttpRequest, obj: Board | None = None
    ) -> dict[str, Sequence[str]]:
        return {} if obj else {"slug": ["name"]}

    def get_urls(self) -> list[URLPattern]:
        def action(form_class: type[ActionForm]) -> Any:
            return partial(self.action_view, form_class=form_class)

        own = [
            path(
                f"<int:pk>/{address}/",
                self.admin_site.admin_view(view),
                name=f"leaderboard_board_{name}",
            )
            for address, view, name in (
                ("standings", self.standings_view, "standings"),
                ("standings/player", self.moderate_view, "moderate"),
                ("season", self.season_view, "season"),
                ("season/open", action(OpenSeasonForm), "open_season"),
                ("season/close", action(CloseSeasonForm), "close_season"),
                ("reset", action(ResetForm), "reset"),
                ("rebuild", action(RebuildForm), "rebuild"),
                ("export", self.export_view, "export"),
            )
        ]
        return [*own, *super().get_urls()]

    # ---- the list -------------------------------------------------------------------------------

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Read the facts of all boards on the page in one round trip."""
        changelist = super().get_changelist_instance(request)
        facts = board_facts(changelist.result_list)
        for board in changelist.result_list:
            board.facts = facts[board.pk]
        return changelist

    @admin.display(description=_("page"))
    def page(self, board: Board) -> str:
        return format_html('<a href="{}">/boards/{}/</a>', board.get_absolute_url(), board.slug)

    @admin.display(description=_("season"))
    def season(self, board: Any) -> str:
        pointer = board.facts.pointer
        if pointer is None:
            return gettext("none")
        states = {"open": _("open"), "closed": _("closed"), "paused": _("being rebuilt")}
        return f"{pointer.number}, {states.get(pointer.state, pointer.state)}"

    @admin.display(description=_("players"))
    def players(self, board: Any) -> str:
        return number_format(board.facts.size, force_grouping=True)

    @admin.display(description=_("memory"))
    def memory(self, board: Any) -> str:
        return filesizeformat(board.facts.memory)

    # ---- saving ---------------------------------------------------------------------------------

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if request.method == "POST" and object_id and "_confirmed" not in request.POST:
            question = self._ask(request, object_id)
            if question is not None:
                return question
        board = self.get_object(request, object_id) if object_id else None
        extra = (extra_context or {}) | {"board_tools": self.tools(request, board)}
        return super().changeform_view(request, object_id, form_url, extra)

    def _ask(self, request: HttpRequest, object_id: str) -> HttpResponse | None:
        """A page that explains the effects of a change on the running season, if it has any."""
        board = self.get_object(request, object_id)
        if board is None or not self.has_change_permission(request, board):
            return None
        form = self.get_form(request, board, change=True)(request.POST, instance=board)
        if not form.is_valid():
            return None
        before = Board.objects.get(pk=board.pk)
        effects = rule_effects(
            before, {name: form.cleaned_data[name] for name in form.changed_data}
        )
        if not effects:
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": _("This changes the running season"),
            "opts": self.opts,
            "board": before,
            "effects": effects,
            "posted": [(name, value) for name, values in request.POST.lists() for value in values],
        }
        return TemplateResponse(request, "admin/leaderboard/board/confirm.html", context)

    def save_model(self, request: HttpRequest, obj: Board, form: Any, change: bool) -> None:
        """Redis and the lock are used after the commit: before it, the worker could not write."""
        actor = Actor.of(request.user)
        if not change:
            super().save_model(request, obj, form, change)
            audit.record("board.create", actor=actor, board=obj)
            transaction.on_commit(partial(begin, obj, actor))
            return
        changes = {name: form.cleaned_data[name] for name in form.changed_data if name != "members"}
        transaction.on_commit(partial(self._change, request, obj.pk, changes, actor))

    def _change(self, request: HttpRequest, pk: int, changes: dict[str, Any], actor: Actor) -> None:
        board = Board.objects.get(pk=pk)
        try:
            changing.change_board(board=board, changes=changes, actor=actor)
        except (ValidationError, ServiceError, LockTakenError) as error:
            reason = " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
            request._not_changed = True  # type: ignore[attr-defined]
            messages.error(request, gettext("Not changed: %s") % reason)

    def message_user(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Wait for the commit, because a change is made after it and may be refused."""

        def send() -> None:
            if not hasattr(request, "_not_changed"):
                super(BoardAdmin, self).message_user(request, *args, **kwargs)

        transaction.on_commit(send)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Counted, not listed: a board may have millions of rows. Staff who may delete the board
        may delete what belongs to it."""
        seasons = Season.objects.filter(board__in=objs)
        counts = {
            str(Season._meta.verbose_name_plural): seasons.count(),
            gettext("final standings"): sum(seasons.values_list("entries", flat=True)),
            gettext("single scores"): ScoreEvent.objects.filter(board__in=objs).count(),
        }
        return [str(board) for board in objs], counts, set(), []

    def delete_model(self, request: HttpRequest, obj: Board) -> None:
        changing.delete_board(board=obj, actor=Actor.of(request.user))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Board]) -> None:
        for board in queryset:
            self.delete_model(request, board)

    # ---- actions --------------------------------------------------------------------------------

    def tools(self, request: HttpRequest, board: Board | None) -> list[tuple[str, str]]:
        """The actions that this person may take, each with its address."""
        if board is None:
            return []
        offered = [
            ("standings", _("Standings"), "view_board"),
            ("season", _("Season"), "manage_seasons"),
            ("rebuild", _("Rebuild"), "reset_board"),
            ("reset", _("Reset"), "reset_board"),
            ("export", _("Export"), "view_board"),
        ]
        return [
            (str(label), reverse(f"admin:leaderboard_board_{name}", args=[board.pk]))
            for name, label, permission in offered
            if rights.is_staff_with(request.user, permission)
        ]


def rule_effects(board: Board, changes: dict[str, Any]) -> list[str]:
    """The effects of these changes on the running season, in sentences."""
    facts = board_facts([board])[board.pk]
    if facts.pointer is None or not facts.pointer.is_open or not facts.size:
        return []
    effects = []
    names = {field.name: field.verbose_name for field in board._meta.get_fields() if field.concrete}
    reordering = [str(names[name]) for name in changes if name in REORDERING]
    if reordering:
        effects.append(
            ngettext(
                "%(rules)s: the running season with %(count)s player is rebuilt from its score "
                "log, and places may change. Scores wait meanwhile, a few seconds on most "
                "boards; none is lost.",
                "%(rules)s: the running season with %(count)s players is rebuilt from its "
                "score log, and places may change. Scores wait meanwhile, a few seconds on "
                "most boards; none is lost.",
                facts.size,
            )
            % {"rules": ", ".join(reordering), "count": number_format(facts.size)}
        )
    limit = changes.get("max_entries")
    if limit and limit < facts.size:
        effects.append(
            gettext(
                "Size limit: the last %(count)s players are removed from the board, with "
                "their scores."
            )
            % {"count": number_format(facts.size - limit)}
        )
    if "operator" in changes:
        effects.append(
            gettext("A new score: existing scores stay as they are; the rule applies to new ones.")
        )
    if {"schedule", "cron"} & changes.keys():
        effects.append(gettext("Seasons: the running season ends by the new schedule."))
    return effects
