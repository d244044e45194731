"""What pages read from an address: the board, its window, a page, a search."""

from __future__ import annotations

from django.http import Http404, HttpRequest

from config.web.paging import Pages
from leaderboard.access import listing
from leaderboard.engine.values import MOST_RANK
from leaderboard.models import Board

LONGEST_SEARCH = 100


def find_board(request: HttpRequest, slug: str) -> Board:
    """The board; 404 if it does not exist or this reader may not see it."""
    try:
        return listing.get_board(slug, request.user)
    except Board.DoesNotExist as error:
        raise Http404(str(error)) from error


def find_window(request: HttpRequest, board: Board) -> str:
    """The window in the address, '' for the season; 404 if the board does not have it."""
    window = request.GET.get("window", "")
    if window and window not in board.windows:
        raise Http404(f"{board.name} has no window {window!r}.")
    return window


def searches(request: HttpRequest) -> bool:
    return bool(request.GET.get("q"))


def search_text(request: HttpRequest, name: str = "q") -> str:
    return request.GET.get(name, "").strip().replace("\0", "")[:LONGEST_SEARCH]


def page_number(request: HttpRequest) -> int:
    return whole_number(request.GET.get("page") or "1")


def whole_number(text: str) -> int:
    """A page or rank in an address; 404 for anything else."""
    if not (text.isascii() and text.isdigit() and len(text) < 16) or not 0 < int(text) < MOST_RANK:
        raise Http404("Not a number of a page or a rank.")
    return int(text)


def pages_of(
    request: HttpRequest, number: int, *, size: int, per_page: int, drop: tuple[str, ...] = ()
) -> Pages:
    """The links between pages of `size` lines; a page beyond the end is the last one."""
    last = max(1, -(-size // per_page))
    return Pages(request, min(number, last), last, drop=drop)
