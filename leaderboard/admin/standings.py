"""The standings of a board in the admin: search, pages, and a page to moderate one player."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import EmptyPage, Paginator
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from leaderboard import presentation
from leaderboard.access import people, rights
from leaderboard.access.audit import Actor
from leaderboard.admin.forms import ModerationForm
from leaderboard.boards import moderation
from leaderboard.engine import LeaderboardError
from leaderboard.errors import ServiceError
from leaderboard.models import Board, Player, Restriction

PER_PAGE = 50


class BoardStandings:
    """Part of `BoardAdmin`."""

    admin_site: Any
    opts: Any

    def standings_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        board = require(request, pk, "view_board")
        engine = board.engine()
        query = request.GET.get("q", "").strip()[:100]
        size = engine.get_size()
        pages = Paginator(range(size), PER_PAGE)
        try:
            page = pages.page(int(request.GET.get("page") or 1))
        except (ValueError, EmptyPage):
            page = pages.page(1)
        if query:
            found = engine.get_entries(people.players_named(query))["entries"]
            entries = [entry | {"rank": entry["board_rank"]} for entry in found]
        else:
            entries = engine.get_page(page.start_index() - 1 if size else 0, PER_PAGE)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Standings of %(board)s") % {"board": board},
            "opts": self.opts,
            "board": board,
            "rows": [
                {
                    "rank": entry["rank"],
                    "id": entry["user_id"],
                    "name": entry["metadata"].get("name", ""),
                    "score": presentation.score_text(board, entry["score"]),
                    "url": moderate_url(board, entry["user_id"]),
                }
                for entry in entries
            ],
            "restrictions": [
                {"restriction": one, "url": moderate_url(board, one.player_id)}
                for one in _restrictions(board)[:PER_PAGE]
            ],
            "page": page,
            "size": size,
            "query": query,
            "may_moderate": rights.is_staff_with(request.user, "moderate_board"),
        }
        return TemplateResponse(request, "admin/leaderboard/board/standings.html", context)

    def moderate_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        board = require(request, pk, "moderate_board")
        player_id = request.GET.get("player", "")
        if not people.can_be_id(player_id):
            raise Http404("No player was given.")
        entry = board.engine().get_user_entry(player_id)
        form = ModerationForm(
            request.POST if request.method == "POST" else None,
            initial={"score": entry and entry["score"]},
        )
        if request.method == "POST" and form.is_valid():
            try:
                text = moderate(board, player_id, form.cleaned_data, Actor.of(request.user))
            except (ServiceError, LeaderboardError) as error:
                form.add_error(None, str(error))
            else:
                messages.success(request, text)
                return HttpResponseRedirect(
                    reverse("admin:leaderboard_board_standings", args=[board.pk])
                )
        context = {
            **self.admin_site.each_context(request),
            "title": people.name_of(board, player_id),
            "opts": self.opts,
            "board": board,
            "player": Player.objects.filter(pk=player_id).first(),
            "player_id": player_id,
            "entry": entry,
            "score": presentation.score_text(board, entry["score"]) if entry else "",
            "restrictions": _restrictions(board).filter(player_id=player_id),
            "form": form,
            "button": _("Apply"),
        }
        return TemplateResponse(request, "admin/leaderboard/board/moderate.html", context)


def moderate(board: Board, player_id: str, values: dict[str, Any], actor: Actor) -> str:
    """Carry out the action of the form. Return a sentence about it."""
    name = {"player": people.name_of(board, player_id)}
    where = None if values["everywhere"] else board
    common = {"player_id": player_id, "reason": values["reason"], "actor": actor}
    match values["action"]:
        case ModerationForm.SCORE:
            moderation.edit_score(board=board, score=values["score"], **common)
            return _("The score of %(player)s was set.") % name
        case ModerationForm.REMOVE:
            moderation.remove_player(board=board, **common)
            return _("%(player)s was removed.") % name
        case ModerationForm.HIDE:
            moderation.hide_player(board=where, until=values["until"], **common)
            return _("%(player)s is hidden.") % name
        case ModerationForm.BAN:
            moderation.ban_player(board=where, until=values["until"], **common)
            return _("%(player)s is banned.") % name
    moderation.unhide_player(board=where, **common)
    return _("%(player)s is shown again.") % name


def require(request: HttpRequest, pk: int, permission: str) -> Board:
    """The board, for staff with the permission; 403 for others, whether the board exists or not."""
    if not rights.is_staff_with(request.user, permission):
        raise PermissionDenied
    return get_object_or_404(Board, pk=pk)


def moderate_url(board: Board, player_id: str) -> str:
    address = reverse("admin:leaderboard_board_moderate", args=[board.pk])
    return f"{address}?{urlencode({'player': player_id})}"


def _restrictions(board: Board) -> Any:
    here = Q(board=board) | Q(board__isnull=True)
    return Restriction.objects.active().filter(here).select_related("player", "created_by")
