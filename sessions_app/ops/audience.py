"""Who is online, who visited, and who came back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from config.web.charts import Point, grid_chart, line_chart
from sessions_app import presence, visits
from sessions_app.ops import Fact, Plot, Section

DAYS = 30
# Every third day, far enough back to have seen its thirtieth day.
COHORT_DAYS, COHORT_STEP = 45, 3


def audience() -> Section:
    return Section(_("Audience"), 20, [*_facts()], [], [*_plots()])


def _facts() -> list[Fact]:
    facts = [
        Fact(
            _("Online now"),
            number_format(presence.count()),
            _("Seen within the last minute. Each person counts once, however many tabs are open."),
        )
    ]
    for name, days in ((_("Visitors today"), 1), (_("This week"), 7), (_("This month"), 30)):
        estimate = visits.unique(days=days)
        facts.append(
            Fact(
                name,
                f"{number_format(estimate.count)} ± {number_format(estimate.error)}",
                ngettext(
                    "Unique visitors on %(days)d day, without bots, with a standard error of "
                    "0.81 %%.",
                    "Unique visitors over %(days)d days, without bots, with a standard error "
                    "of 0.81 %%.",
                    days,
                )
                % {"days": days},
            )
        )
    return facts


def _plots() -> list[Plot]:
    visitors, active = visits.unique_by_day(days=DAYS), visits.active_by_day(days=DAYS)
    return [
        Plot(
            _("Visitors per day"),
            _daily(visitors, _("Visitors per day")),
            _("Today is not over yet, so its value still rises."),
        ),
        Plot(
            _("Active players per day"),
            _daily(active, _("Active players per day")),
            _(
                "Accounts that opened a page or sent a score. A number close to that of "
                "visitors means that most visitors sign in."
            ),
        ),
        Plot(
            _("Returning players"),
            _retention(visits.retention(days=COHORT_DAYS)),
            _(
                "Of the players active on a day, the share who were active again 1, 7 and 30 "
                "days later. Rows that keep their colour towards the right show players who "
                "stay."
            ),
        ),
    ]


def _daily(counts: Mapping[date, int], title: str) -> SafeString:
    days = list(counts)
    points = [
        Point(
            number,
            counts[day],
            f"{date_format(day, 'MONTH_DAY_FORMAT')}: {number_format(counts[day])}",
        )
        for number, day in enumerate(days)
    ]
    ticks = [
        (number, date_format(day, "MONTH_DAY_FORMAT"))
        for number, day in enumerate(days)
        if number % 7 == 1
    ]
    description = _(
        "From %(first)s to %(last)s: at least %(low)s, at most %(high)s, today %(today)s."
    ) % {
        "first": date_format(days[0]),
        "last": date_format(days[-1]),
        "low": number_format(min(counts.values())),
        "high": number_format(max(counts.values())),
        "today": number_format(counts[days[-1]]),
    }
    return line_chart(points, title=title, description=description, x_ticks=ticks)


def _retention(cohorts: list[visits.Cohort]) -> SafeString:
    shown = [cohort for cohort in cohorts[-2::-COHORT_STEP] if cohort.active]
    rows = [
        (
            f"{date_format(cohort.day, 'MONTH_DAY_FORMAT')} ({number_format(cohort.active)})",
            [cohort.share(days) for days in visits.RETURN_AFTER],
        )
        for cohort in shown
    ]
    columns = [
        ngettext("after %(days)d day", "after %(days)d days", days) % {"days": days}
        for days in visits.RETURN_AFTER
    ]
    description = _(
        "A row for each day with its number of active players and the share of them who were "
        "active again 1, 7 and 30 days later."
    )
    if not rows:
        return format_html('<p class="muted">{}</p>', _("No player was active before today."))
    return grid_chart(
        rows,
        columns,
        title=_("Returning players"),
        description=description,
        format_value=lambda share: f"{number_format(100 * share, 0)} %",
    )
