"""The console of a board: forms for the operations of the engine, with their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django import forms as django_forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from leaderboard import presentation
from leaderboard.access import aliases, people, rights
from leaderboard.access.audit import Actor
from leaderboard.boards.scores import ScoreResult, submit_score, update_details
from leaderboard.boards.size_limit import set_size_limit
from leaderboard.engine import LeaderboardError
from leaderboard.entries import Entry
from leaderboard.errors import ServiceError
from leaderboard.models import Board
from leaderboard.models.player import ANONYMOUS
from leaderboard.pages import forms
from leaderboard.pages.parameters import find_board
from leaderboard.pages.refusals import refusal_text
from leaderboard.presentation import Line
from leaderboard.sample.refilling import refill
from ratelimit.decorators import limit

VISITOR = Actor("visitor")  # anyone, on a demo board


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of an operation: a sentence, and optionally lines of the board."""

    text: str
    rows: list[Line] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


class Operation(NamedTuple):
    title: Any
    button: Any
    form: type[django_forms.Form]
    run: Callable[[HttpRequest, Board, Any], Answer]
    danger: bool = False


def _actor(request: HttpRequest) -> Actor:
    return Actor.of(request.user) if request.user.is_authenticated else VISITOR


def _source(request: HttpRequest) -> str:
    return f"console:{request.user.pk}" if request.user.is_authenticated else "console"


def _set_score(request: HttpRequest, board: Board, form: forms.SetScoreForm) -> Answer:
    player_id, score = form.cleaned_data["player_id"], form.cleaned_data["score"]
    if score is not None:
        result = submit_score(
            board=board,
            player_id=player_id,
            score=score,
            operator="set",
            details=form.details() or None,
            source=_source(request),
        )
        return _scored(board, result)
    changed = update_details(
        board=board, player_id=player_id, details=form.details(), source=_source(request)
    )
    if changed is None or _is_masked(player_id):
        raise ServiceError(
            gettext("%(player)s is not on the board.") % {"player": _name(board, player_id)},
            field="player_id",
        )
    return Answer(
        gettext("The details of %(player)s were changed.") % {"player": _name(board, player_id)}
    )


def _add_points(request: HttpRequest, board: Board, form: Any) -> Answer:
    result = submit_score(
        board=board,
        player_id=form.cleaned_data["player_id"],
        score=form.cleaned_data["amount"],
        operator="sum",
        source=_source(request),
    )
    return _scored(board, result)


def _scored(board: Board, result: ScoreResult) -> Answer:
    # The place of an anonymous player would reveal which alias belongs to the id.
    if result.rank is None or result.score is None or _is_masked(result.player_id):
        text = gettext("The score of %(player)s was saved but is not ranked.")
        shown = {"player": _name(board, result.player_id)}
        return Answer(text % shown, names=_names(result.trimmed))
    around = _lines(board, board.engine(result.season).get_around_user(result.player_id, 5))
    own = [line for line in around if line.id == result.player_id]
    text = gettext("%(player)s is at rank %(rank)s with %(score)s.") % {
        "player": own[0].name if own else _name(board, result.player_id),
        "rank": presentation.number_text(result.rank),
        "score": presentation.score_text(board, result.score),
    }
    return Answer(text, around, _names(result.trimmed))


def _top(request: HttpRequest, board: Board, form: Any) -> Answer:
    return _found(board, board.engine().get_top(form.cleaned_data["count"]))


def _around(request: HttpRequest, board: Board, form: Any) -> Answer:
    rank, count = form.cleaned_data["rank"], form.cleaned_data["count"]
    return _found(board, board.engine().get_around_rank(rank, count))


def _limit(request: HttpRequest, board: Board, form: Any) -> Answer:
    wanted = form.cleaned_data["limit"]
    trimmed = set_size_limit(board=board, limit=wanted, actor=_actor(request))
    if wanted is None:
        return Answer(gettext("The board has no size limit."))
    text = ngettext(
        "The limit is %(limit)s; %(count)s player was trimmed.",
        "The limit is %(limit)s; %(count)s players were trimmed.",
        len(trimmed),
    )
    shown = {
        "limit": presentation.number_text(wanted),
        "count": presentation.number_text(len(trimmed)),
    }
    return Answer(text % shown, names=_names(trimmed[: forms.MOST_LINES]))


def _reset(request: HttpRequest, board: Board, form: Any) -> Answer:
    count = refill(board=board, actor=_actor(request))
    text = ngettext(
        "%(count)s sample score was added.", "%(count)s sample scores were added.", count
    )
    return Answer(text % {"count": count}, _lines(board, board.engine().get_top(5)))


def _is_masked(player_id: str) -> bool:
    return bool(rights.anonymous_among([player_id]))


def _name(board: Board, player_id: str) -> str:
    """The name of a player, or the id of one who is not named on this board."""
    unnamed = rights.unnamed_on(board).filter(pk=player_id).exists()
    return player_id if unnamed else _names([player_id])[0]


def _names(player_ids: Sequence[str]) -> list[str]:
    return [
        gettext("Anonymous") if name == ANONYMOUS else name
        for name in people.shown_names(player_ids)
    ]


def _found(board: Board, entries: list[Any]) -> Answer:
    text = ngettext("%(count)s line", "%(count)s lines", len(entries))
    return Answer(text % {"count": len(entries)}, _lines(board, entries))


def _lines(board: Board, found: list[Any]) -> list[Line]:
    return [presentation.line(board, one) for one in aliases.masked_all(map(Entry.of, found))]


OPERATIONS: dict[str, Operation] = {
    "set": Operation(
        gettext_lazy("Set a score"), gettext_lazy("Set"), forms.SetScoreForm, _set_score
    ),
    "add": Operation(
        gettext_lazy("Add points"), gettext_lazy("Add"), forms.AddPointsForm, _add_points
    ),
    "top": Operation(gettext_lazy("The top"), gettext_lazy("Show"), forms.TopForm, _top),
    "around": Operation(
        gettext_lazy("Around a rank"), gettext_lazy("Show"), forms.AroundForm, _around
    ),
    "limit": Operation(gettext_lazy("Size limit"), gettext_lazy("Change"), forms.LimitForm, _limit),
    "reset": Operation(
        gettext_lazy("Sample data"), gettext_lazy("Reset"), forms.ResetForm, _reset, danger=True
    ),
}


@require_http_methods(["GET", "HEAD", "POST"])
@limit("console")
def console(request: HttpRequest, slug: str) -> HttpResponse:
    board = find_board(request, slug)
    if not rights.may_use_console(request.user, board):
        raise PermissionDenied
    shown = {name: _form(name, board) for name in _operations(board)}
    name = request.POST.get("operation", "")
    answer = None
    if request.method == "POST":
        if name not in shown:
            raise PermissionDenied
        shown[name] = _form(name, board, request.POST)
        answer = _answer(request, board, name, shown[name])
    blocks = [
        {"name": key, "operation": OPERATIONS[key], "form": form} for key, form in shown.items()
    ]
    context = {"board": board, "blocks": blocks, "answer": answer, "done": name}
    if request.htmx and name in shown:  # type: ignore[attr-defined]
        context["block"] = next(block for block in blocks if block["name"] == name)
        return render(request, "leaderboard/console_block.html", context)
    return render(request, "leaderboard/console.html", context)


def _operations(board: Board) -> list[str]:
    """Sample data is offered only on demo boards, where nothing real can be lost."""
    demo = board.submitters == Board.Submitters.DEMO
    return [name for name in OPERATIONS if demo or name != "reset"]


def _form(name: str, board: Board, data: Any = None) -> django_forms.Form:
    initial = {"limit": board.max_entries} if name == "limit" else None
    options: dict[str, Any] = {"board": board} if name == "set" else {}
    return OPERATIONS[name].form(data, auto_id=f"{name}_%s", initial=initial, **options)


def _answer(
    request: HttpRequest, board: Board, name: str, form: django_forms.Form
) -> Answer | None:
    """Run the operation. A refusal of the engine or a service becomes an error of the form."""
    if not form.is_valid():
        return None
    try:
        return OPERATIONS[name].run(request, board, form)
    except (LeaderboardError, ServiceError) as error:
        field_name = {"user_id": "player_id"}.get(error.field or "", error.field or "")
        form.add_error(field_name if field_name in form.fields else None, refusal_text(error))
        return None
