"""Several seasons of a board, or several boards, as one table."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard import presentation
from leaderboard.access import listing, people
from leaderboard.boards import together
from leaderboard.boards.standings import PER_PAGE
from leaderboard.entries import Entry
from leaderboard.models import Board, Season
from leaderboard.pages.forms import TogetherForm
from leaderboard.pages.parameters import find_board, page_number, pages_of
from leaderboard.presentation import Line
from ratelimit.decorators import limit

MOST_OFFERED = 50  # seasons, and boards


@require_safe
@limit("together")
def together_page(request: HttpRequest, slug: str) -> HttpResponse:
    board = find_board(request, slug)
    seasons = _seasons(board)
    others = _others(request, board)
    form = TogetherForm(_asked(request, board, seasons), seasons=seasons, others=others)
    context: dict[str, Any] = {"board": board, "form": form}
    if form.is_valid():
        number = page_number(request)
        choice = together.Choice(
            board,
            tuple(one for one in seasons if str(one.number) in form.cleaned_data["season"]),
            tuple(one for one in others if one.slug in form.cleaned_data["board"]),
            form.cleaned_data["how"],
        )
        me = people.player_id_of(request.user)
        try:
            found = together.page(choice, number=number, player_id=me)
        except together.TooLargeError:
            form.refuse_size()
            return render(request, "leaderboard/together.html", context)
        pages = pages_of(request, number, size=found.page.size, per_page=PER_PAGE)
        if number > pages.last:
            return HttpResponseRedirect(pages.url(pages.last))
        names = [one.title for one in choice.seasons]
        context |= {
            "rows": [_line(board, entry, found) for entry in found.page.entries],
            "mine": _line(board, found.mine, found) if found.mine else None,
            "me": found.mine.player_id if found.mine else "",
            "pages": pages,
            "size_text": presentation.players_text(found.page.size),
            "chosen": names + [one.name for one in choice.others],
            "how_text": dict(TogetherForm.HOW)[choice.how],
        }
    return render(request, "leaderboard/together.html", context)


def _asked(request: HttpRequest, board: Board, seasons: list[Season]) -> QueryDict:
    """The choice in the address; by default the newest seasons."""
    asked = request.GET.copy()
    if "season" not in asked and "board" not in asked:
        newest = seasons[: together.MOST_SOURCES]
        asked.setlist("season", [str(one.number) for one in newest])
    if "how" not in asked:
        asked["how"] = "sum" if board.order == Board.Order.DESC else "best"
    return asked


def _seasons(board: Board) -> list[Season]:
    """The seasons that have begun, newest first."""
    begun = Season.objects.filter(board=board).exclude(state=Season.State.PLANNED)
    return list(begun.select_related("board").order_by("-number")[:MOST_OFFERED])


def _others(request: HttpRequest, board: Board) -> list[Board]:
    """Boards that the reader may see, with scores that can be compared with this board's."""
    alike = listing.visible_boards(request.user).filter(
        order=board.order,
        score_format=board.score_format,
        score_decimals=board.score_decimals,
        unit=board.unit,
    )
    return list(alike.exclude(pk=board.pk)[:MOST_OFFERED])


def _line(board: Board, entry: Entry, found: together.Union) -> Line:
    """A player who is only on another board has a page there."""
    return presentation.line(board, entry, home=found.homes.get(entry.player_id))
