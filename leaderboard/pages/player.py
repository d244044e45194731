"""A player's page on a board: place, history, rivals, other boards, past seasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from config.web.charts import Point, line_chart
from leaderboard import presentation
from leaderboard.access import aliases, listing, people, rights
from leaderboard.boards import current, standings
from leaderboard.boards.standings import Mine
from leaderboard.entries import Entry
from leaderboard.models import Board, FinalStanding, Player, ScoreEvent
from leaderboard.pages.parameters import find_board
from leaderboard.seasons import history
from leaderboard.seasons.pointer import moment
from sessions_app import presence, visits

OTHER_BOARDS = 20


@require_safe
def player_page(request: HttpRequest, slug: str, player_id: str) -> HttpResponse:
    board = find_board(request, slug)
    if not people.can_be_id(player_id):
        raise Http404("This is not a player id.")
    visits.record(request, board.slug)
    is_me = people.player_id_of(request.user) == player_id
    found = player_id if is_me else people.find_shown(board, player_id)
    if found is None:
        raise Http404("No visible player with this id is or was on this board.")
    player = Player.objects.filter(pk=found).first()
    unseen = rights.why_unseen(board, player) if is_me and player else None
    shown = player if player is None or player.privacy == Player.Privacy.SHOWN else None
    # Other boards and past seasons would reveal who an anonymous player is.
    is_known = is_me or player is None or shown is not None
    listed = listing.visible_boards(request.user)[:OTHER_BOARDS] if is_known else []
    others = [one for one in listed if one != board]
    places = standings.player_on_boards([board, *others], found)
    mine = places.pop(board.slug, None)
    seasons = history.player_seasons(found, board) if is_known else []
    if mine is not None:
        entry = mine.entry
    elif unseen is not None and player is not None:
        entry = Entry(0, found, 0.0, _own_details(player))
    elif seasons:
        entry = _past_entry(seasons[0], player, shown)
    else:
        raise Http404("No player with this id is or was on this board.")
    events = history.history(board, found, season=current.season(board))
    context: dict[str, Any] = {
        "board": board,
        "player_id": mine.entry.player_id if mine else player_id,
        "live_url": reverse("live_board", args=[board.slug]),
        "line": presentation.line(board, entry),
        "description": presentation.description(entry),
        "mine": mine,
        "unseen": unseen,
        "percentile": _percentile(mine) if mine else "",
        "rivals": [presentation.line(board, entry) for entry in mine.around] if mine else [],
        "profile": shown,
        "is_me": is_me,
        "others": [
            {
                "board": one,
                "line": presentation.line(one, places[one.slug].entry),
                "percentile": _percentile(places[one.slug]),
            }
            for one in others
            if one.slug in places
        ],
        "seasons": _seasons(board, seasons),
        "score_chart": _score_chart(board, events),
        "rank_chart": _rank_chart(events),
    }
    return render(request, "leaderboard/player.html", context | _presence(shown))


def _percentile(mine: Mine) -> str:
    return presentation.top_text(mine.top_share, mine.size)


def _seasons(board: Board, standings: Sequence[FinalStanding]) -> list[dict[str, Any]]:
    """Past seasons. Of several the best is marked, of equal ranks the newest."""
    best = min(standings, key=lambda one: one.rank) if len(standings) > 1 else None
    return [
        {"standing": one, "score": presentation.score_text(board, one.score), "best": one is best}
        for one in standings
    ]


def _past_entry(standing: FinalStanding, player: Player | None, shown: Player | None) -> Entry:
    """The entry of the player's last season, without the name if the player is anonymous."""
    masked = player is not None and shown is None
    details = aliases.MASKED if masked else standing.details | {"name": standing.name}
    return Entry(standing.rank, standing.player_id, standing.score, details)


def _own_details(player: Player) -> dict[str, str]:
    """How players see themselves where nobody else sees them."""
    names = ("country", "team", "avatar")
    return {name: getattr(player, name) for name in names} | {"name": player.display_name}


def _presence(player: Player | None) -> dict[str, Any]:
    """Online or last seen, of a player who is shown by name."""
    if player is None or player.account_id is None:
        return {}
    return {
        "online": presence.is_online(player.account_id),
        "last_seen": presence.last_seen(player.account_id),
    }


def _score_chart(board: Board, events: Sequence[ScoreEvent]) -> SafeString | str:
    points = [
        Point(event.at, score, f"{presentation.score_text(board, score)}, {_day(event)}")
        for event in events
        if (score := event.score) is not None
    ]
    if len(points) < 2:
        return ""
    ends = {
        "first": presentation.score_text(board, points[0].y),
        "last": presentation.score_text(board, points[-1].y),
        "count": len(points),
    }
    return line_chart(
        points,
        title=gettext("Score over the season"),
        description=gettext("From %(first)s to %(last)s in %(count)s steps") % ends,
        x_ticks=_ends(events),
        from_zero=False,
        steps=True,
        format_value=lambda value: presentation.axis_text(board, value),
    )


def _rank_chart(events: Sequence[ScoreEvent]) -> SafeString | str:
    points = [
        Point(event.at, event.rank, f"#{presentation.number_text(event.rank)}, {_day(event)}")
        for event in events
        if event.rank is not None
    ]
    if len(points) < 2:
        return ""
    ends = {
        "first": presentation.number_text(int(points[0].y)),
        "last": presentation.number_text(int(points[-1].y)),
    }
    return line_chart(
        points,
        title=gettext("Rank over the season"),
        description=gettext("From %(first)s to %(last)s") % ends,
        x_ticks=_ends(events),
        best_on_top=True,
        steps=True,
    )


def _ends(events: Sequence[ScoreEvent]) -> list[tuple[float, str]]:
    return [
        (event.at, date_format(moment(event.at), "MONTH_DAY_FORMAT"))
        for event in (events[0], events[-1])
    ]


def _day(event: ScoreEvent) -> str:
    return date_format(moment(event.at), "SHORT_DATETIME_FORMAT")
