"""The boards' part of the operations page: their size, and whether the score log keeps up."""

from __future__ import annotations

from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.boards.facts import board_facts
from leaderboard.log import troubles
from leaderboard.log.consumer import lags
from leaderboard.models import Board
from sessions_app import presence
from sessions_app.ops import BOARDS, Fact, Section, Table

# Bounds on what one look may ask of Redis.
MOST_BOARDS = 200
BIGGEST = 10
LATE = 1000  # events; a healthy worker is never a thousand behind for long


def boards() -> Section:
    chosen = list(Board.objects.order_by("-pk")[:MOST_BOARDS])
    facts = board_facts(chosen)
    waiting, dead = lags(chosen), _dead_letters(chosen)
    biggest = sorted(chosen, key=lambda board: facts[board.pk].size, reverse=True)[:BIGGEST]
    watching = presence.counts([board.slug for board in biggest])
    rows = [
        (
            board.name,
            number_format(facts[board.pk].size),
            filesizeformat(facts[board.pk].memory),
            number_format(watching[board.slug]),
            number_format(waiting[board.slug]),
            number_format(dead[board.slug]),
        )
        for board in biggest
    ]
    table = Table(
        _("Biggest boards"),
        [
            _("Board"),
            _("Players"),
            _("Memory"),
            _("Watching"),
            _("Waiting for the log"),
            _("Dead letters"),
        ],
        rows,
        _(
            "Memory of the running season's ranking, without windows and details: about 100 "
            "bytes per player is usual. A board that only grows needs a size limit or shorter "
            "seasons."
        ),
        _("There is no board yet."),
        BOARDS,
    )
    failing = _troubles()
    return Section(_("Boards"), 30, _facts(waiting, dead, failing), [failing, table])


def _troubles() -> Table:
    """The failures of all boards, not only of the newest."""
    duties = {
        "clock": _("Season clock"),
        "rebuild": _("Rebuild"),
        "archive": _("Archive"),
        "log": _("Score log"),
        "stream": _("Score stream"),
        "sweep": _("Clean-up"),
    }
    found = troubles.read()
    names = dict(
        Board.objects.filter(slug__in={one.slug for one in found}).values_list("slug", "name")
    )
    rows = [
        (
            names[one.slug],
            duties.get(one.duty, one.duty),
            one.error,
            date_format(timezone.localtime(one.since), "DATETIME_FORMAT"),
        )
        for one in found
        if one.slug in names
    ]
    return Table(
        _("Boards in trouble"),
        [_("Board"), _("Task"), _("Error"), _("Since")],
        rows,
        _(
            "The worker could not do these tasks for these boards and keeps trying; other "
            "boards are not affected. A row disappears when its task succeeds. The full error "
            "is in the worker's log."
        ),
        _("No board is in trouble."),
        BOARDS,
    )


def _facts(waiting: dict[str, int], dead: dict[str, int], failing: Table) -> list[Fact]:
    late, buried = sum(waiting.values()), sum(dead.values())
    return [
        Fact(
            _("Score log"),
            _("%(count)s waiting") % {"count": number_format(late)},
            _(
                "Events that are in Redis but not yet in SQL. The number should return to zero "
                "within seconds; if it keeps growing, no worker is running (manage.py worker) "
                "or SQL is slow."
            ),
            warning=late > LATE,
        ),
        Fact(
            _("Dead letters"),
            number_format(buried),
            _(
                "Events that could not be stored after five attempts. The number should be "
                "zero; the worker's log has the reason for each."
            ),
            warning=buried > 0,
        ),
        Fact(
            _("Worker failures"),
            number_format(len(failing.rows)),
            _(
                "Boards for which a task of the worker fails. The number should be zero; see the "
                "table below."
            ),
            warning=bool(failing.rows),
        ),
    ]


def _dead_letters(chosen: list[Board]) -> dict[str, int]:
    pipe = get_redis().pipeline(transaction=False)
    for board in chosen:
        pipe.xlen(keys.dead_letters(board.key))
    return dict(zip((board.slug for board in chosen), pipe.execute(), strict=True))
