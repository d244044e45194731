"""A board's page: season and windows, pages, search, the reader's own place, the wall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from config.web.charts import Bar, bar_chart
from config.web.paging import Pages
from leaderboard import presentation
from leaderboard.access import aliases, people, rights
from leaderboard.boards import final, standings
from leaderboard.boards.standings import Mine, Standings
from leaderboard.models import Board, Player
from leaderboard.notices import delivery
from leaderboard.pages.home import season_name
from leaderboard.pages.parameters import (
    find_board,
    find_window,
    page_number,
    pages_of,
    search_text,
    searches,
    whole_number,
)
from ratelimit.decorators import limit
from sessions_app import presence, visits
from sessions_app.flags import flag_enabled

WALL_LINES = (3, 5, 10, 15, 20, 25)  # as in the style sheet


@require_safe
@limit("search", when=searches)
def board_page(request: HttpRequest, slug: str) -> HttpResponse:
    board = find_board(request, slug)
    window = find_window(request, board)
    visits.record(request, board.slug)
    has_wall = flag_enabled("wall", request)
    if request.GET.get("display") == "wall":
        if not has_wall:
            raise Http404("The wall is switched off.")
        return _wall(request, board, window)
    if rank := request.GET.get("rank"):
        before = standings.entries_before(board, whole_number(rank), window=window)
        page = before // standings.PER_PAGE + 1
        elsewhere = Pages(request, 1, 1, drop=("rank", "q", *board.groups))
        return HttpResponseRedirect(elsewhere.url(page))
    query = search_text(request)
    number = page_number(request)
    me = people.player_id_of(request.user)
    groups = _groups(request, board, window)
    wanted = people.players_named(query) if query else None
    found = standings.board_page(
        board,
        window=window,
        offset=(number - 1) * standings.PER_PAGE,
        player_id=me,
        among=wanted,
        groups=groups,
    )
    if not window and final.is_over(found):
        found = final.page(board, found, number=number, search=query, player_id=me)
        groups = {}
    if wanted is not None:
        shown = [entry for entry in found.page.entries if not aliases.is_alias(entry.player_id)]
        found = replace(found, page=replace(found.page, size=len(shown), entries=shown))
    size = 0 if query else found.page.size  # a search has one page
    pages = pages_of(request, number, size=size, per_page=standings.PER_PAGE, drop=("rank",))
    if number > pages.last:
        return HttpResponseRedirect(pages.url(pages.last))
    first_page = not query and not groups and number == 1
    unseen = _unseen(request, board, found)
    context = _context(request, board, window, found, me) | {
        "pages": pages,
        "query": query,
        "filters": _filters(board, groups, found),
        "view": urlencode(groups),  # js/live.js shows moves only within one view
        "filtered": bool(query or groups),
        "ranked_apart": bool(groups) and not query,
        "looked_at": presentation.number_text(standings.MOST_COMBINED) if found.page.cut else "",
        "live_mode": "rows" if first_page else "refresh",
        "unseen": unseen,
        "may_submit": rights.may_submit_own(request.user, board, unseen),
        "may_use_console": rights.may_use_console(request.user, board),
        "has_wall": has_wall,
        "has_nearby": found.has_places and flag_enabled("nearby", request),
    }
    return render(request, "leaderboard/board.html", context)


def _unseen(request: HttpRequest, board: Board, found: Standings) -> rights.Unseen | None:
    """Why others do not see the reader. Not queried for a reader with a place on the live board."""
    player: Player | None = getattr(request.user, "player", None)
    if player is None or (found.mine is not None and not final.is_over(found)):
        return None
    return rights.why_unseen(board, player)


def _wall(request: HttpRequest, board: Board, window: str) -> HttpResponse:
    lines = whole_number(request.GET.get("top") or "10")
    if lines not in WALL_LINES:
        raise Http404(f"A wall shows one of {WALL_LINES} lines.")
    found = standings.board_page(board, window=window)
    if not window and final.is_over(found):
        found = final.page(board, found)
    context = _context(request, board, window, found, None)
    return render(request, "leaderboard/wall.html", context | {"lines": lines, "live_mode": "rows"})


def _context(
    request: HttpRequest, board: Board, window: str, found: Standings, me: str | None
) -> dict[str, Any]:
    accounts = people.accounts_of(entry.player_id for entry in found.page.entries)
    online = found.online
    if online is None:
        online = frozenset(presence.online_among(accounts.values()))
    url = board.get_absolute_url()
    query = f"?window={window}" if window else ""
    return {
        "board": board,
        "window": window,
        "view_label": dict(Board.Window.choices).get(window, gettext("Season")),
        "tabs": _tabs(board, window, url),
        "rows": [
            presentation.line(board, entry, online=accounts.get(entry.player_id) in online)
            for entry in found.page.entries
        ],
        # The id of the reader's own row on this page.
        "me": found.mine.entry.player_id if found.mine else me or "",
        "mine": _place(board, found.mine) if found.mine else None,
        "distribution": _distribution(
            board, found.distribution, found.mine.entry.score if found.mine else None
        ),
        "scores_url": reverse("board_scores", args=[board.slug]) + query,
        # Read together with the board, not by the context processor.
        "unread_notices": delivery.unread_seen(me, found.unread_notices) if me else 0,
        "season": found.pointer,
        "season_name": season_name(board, found.pointer),
        "size_text": presentation.players_text(found.page.size),
        "sequence": found.sequence,
        "updated_at": found.updated_at,
        "watching": presentation.number_text(found.watching),
        "plain_url": url + query,
        "live_url": reverse("live_board", args=[board.slug]) + query,
    }


def _tabs(board: Board, window: str, url: str) -> list[dict[str, Any]]:
    if not board.windows:
        return []
    season = {"label": gettext("Season"), "url": url, "current": not window}
    return [season] + [
        {"label": label, "url": f"{url}?window={name}", "current": window == name}
        for name, label in Board.Window.choices
        if name in board.windows
    ]


def _place(board: Board, mine: Mine) -> dict[str, Any]:
    return {
        "line": presentation.line(board, mine.entry),
        "around": [presentation.line(board, entry) for entry in mine.around],
        "percentile": presentation.top_text(mine.top_share, mine.size),
        "size": presentation.number_text(mine.size),
        "next": _next_step(board, mine),
    }


def _groups(request: HttpRequest, board: Board, window: str) -> dict[str, str]:
    """The country and team in the address, if the board is grouped by them, in the players' own
    spelling. A value that nobody has is left as it is and finds nobody."""
    groups = {name: value for name in board.groups if (value := search_text(request, name))}
    known = standings.group_values(board, window=window) if groups else {}
    for name, value in groups.items():
        if value not in known[name]:
            same = (one for one in known[name] if one.casefold() == value.casefold())
            groups[name] = next(same, value)
    return groups


def _filters(board: Board, groups: Mapping[str, str], found: Standings) -> list[dict[str, Any]]:
    """The details by which the board is grouped, each with its chosen value and existing ones."""
    labels = dict(Board.Group.choices)
    return [
        {
            "name": name,
            "label": labels[name],
            "value": groups.get(name, ""),
            "suggested": found.suggested[name],
        }
        for name in board.groups
    ]


@require_safe
def board_scores(request: HttpRequest, slug: str) -> HttpResponse:
    """The distribution of the scores, which an open page loads again."""
    board = find_board(request, slug)
    window = find_window(request, board)
    bins, mine = standings.spread(board, window=window, player_id=people.player_id_of(request.user))
    url = request.get_full_path()
    context = {"distribution": _distribution(board, bins, mine), "scores_url": url}
    return render(request, "leaderboard/board_scores.html", context)


def _distribution(board: Board, bins: list[dict[str, Any]], mine: float | None) -> SafeString | str:
    if sum(one["count"] for one in bins) < 2:
        return ""
    own = next(
        (n for n, one in enumerate(bins) if mine is not None and one["low"] <= mine <= one["high"]),
        None,
    )
    text = [presentation.score_text(board, one["low"]) for one in bins]
    lowest, highest = text[0], presentation.score_text(board, bins[-1]["high"])
    return bar_chart(
        [
            Bar(one["count"], f"{low}: {presentation.number_text(one['count'])}", mark=n == own)
            for n, (one, low) in enumerate(zip(bins, text, strict=True))
        ],
        title=gettext("All scores"),
        description=gettext("How the scores are spread, from %(low)s to %(high)s")
        % {"low": lowest, "high": highest},
        x_labels=[(1, lowest), (len(bins) - 2, highest)],
        width=320,
        height=160,
    )


def _next_step(board: Board, mine: Mine) -> str:
    """What it takes to pass the player just above."""
    position = mine.around.index(mine.entry)
    if position == 0:
        return gettext("You are in the lead.")
    ahead = mine.around[position - 1]
    gap = abs(ahead.score - mine.entry.score)
    shown = {
        "gap": presentation.score_text(board, gap),
        "name": presentation.line(board, ahead).name,
        "rank": presentation.number_text(ahead.rank),
    }
    if not gap:
        return gettext("Level with %(name)s: any better score passes them.") % shown
    return gettext("%(gap)s to reach %(name)s at rank %(rank)s.") % shown
