"""Players' own pages: submit a score, edit the profile."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from leaderboard import presentation
from leaderboard.access import rights
from leaderboard.access.aliases import row_details
from leaderboard.boards.enrolment import ensure_player
from leaderboard.boards.profiles import update_profile
from leaderboard.boards.scores import ScoreResult, submit_score
from leaderboard.engine import LeaderboardError
from leaderboard.errors import ServiceError
from leaderboard.models import Board, Player
from leaderboard.pages.forms import ProfileForm, SubmitForm
from leaderboard.pages.parameters import find_board
from leaderboard.pages.refusals import refusal_text
from ratelimit.decorators import limit

FAR_OFF = 10  # times the best score of the board


class AuthenticatedHttpRequest(HttpRequest):
    """A request after `login_required`."""

    user: User


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@limit("score_submit", methods=["POST"])
def submit(request: AuthenticatedHttpRequest, slug: str) -> HttpResponse:
    """A signed-in player's own score, where the board allows it."""
    board = find_board(request, slug)
    player = ensure_player(user=request.user)
    if not rights.may_submit(request.user, board, player.pk):
        raise PermissionDenied
    unseen = rights.why_unseen(board, player)
    if unseen is not None and unseen.is_restricted:
        context = {"board": board, "unseen": unseen}
        return render(request, "leaderboard/submit.html", context, status=403)
    form = SubmitForm(request.POST or None, board=board)
    if request.method == "POST" and form.is_valid():
        score = form.cleaned_data["score"]
        question = "" if form.is_confirmed else _question(board, score)
        if question:
            form.ask(question)
            return render(request, "leaderboard/submit.html", {"board": board, "form": form})
        try:
            result = submit_score(
                board=board,
                player_id=player.pk,
                score=score,
                details=row_details(board, player),
                source=f"user:{request.user.pk}",
            )
        except (LeaderboardError, ServiceError) as error:
            form.add_error("score", refusal_text(error))
        else:
            messages.success(request, _success_text(board, result, score))
            return redirect("board", slug=board.slug)
    return render(request, "leaderboard/submit.html", {"board": board, "form": form})


def _question(board: Board, score: float) -> str:
    """A question about a score that is probably mistyped; "" for any other."""
    leaders = board.engine().get_top(1)
    best = leaders[0]["score"] if leaders else 0.0
    if best <= 0:
        return ""  # nothing to compare with
    shown = {"score": presentation.score_text(board, score)}
    if score / best >= FAR_OFF:
        shown["times"] = presentation.number_text(int(score / best))
        return gettext("%(score)s is %(times)s times the best. Submit?") % shown
    if board.order == Board.Order.ASC and score / best <= 1 / FAR_OFF:
        return gettext("%(score)s is less than a tenth of the best. Submit?") % shown
    return ""


def _success_text(board: Board, result: ScoreResult, submitted: float) -> str:
    if result.rank is None or result.score is None:
        return gettext("Your score is in.")
    if result.changed:
        text = gettext("Your score is in: rank %(rank)s with %(score)s.")
    elif board.operator != Board.Operator.BEST or result.score == submitted:
        text = gettext("Nothing changed: you stay at rank %(rank)s with %(score)s.")
    else:
        text = gettext("Your earlier score is better: you stay at rank %(rank)s with %(score)s.")
    return text % {
        "rank": presentation.number_text(result.rank),
        "score": presentation.score_text(board, result.score),
    }


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def profile(request: AuthenticatedHttpRequest) -> HttpResponse:
    """How the reader appears on every board. A change is shown everywhere at once."""
    player = ensure_player(user=request.user)
    # A form writes to its instance, and the service needs an unchanged one.
    form = ProfileForm(request.POST or None, instance=Player.objects.get(pk=player.pk))
    if request.method == "POST" and form.is_valid():
        update_profile(player=player, **form.changes())
        messages.success(request, gettext("Saved. Every board already shows it."))
        return redirect("profile")
    return render(request, "leaderboard/profile.html", {"form": form, "player": player})
