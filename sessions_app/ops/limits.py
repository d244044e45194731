"""The rate limits today."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.formats import date_format, number_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from ratelimit.selectors import CallerRow, Summary, summary
from sessions_app.ops import Fact, Section, Table

MANY_DENIED = 0.2  # of the calls of a policy, from `ENOUGH` calls on
ENOUGH = 100


def limits() -> Section:
    found = summary()
    policies = Table(
        _("Policies today"),
        [_("Policy"), _("Limit"), _("Calls"), _("Refused"), _("Would be refused"), _("Failed")],
        [
            (
                row.policy.name,
                str(row.policy),
                number_format(row.hits),
                number_format(row.denied),
                number_format(row.shadow_denied),
                number_format(row.failed),
            )
            for row in found.policies
        ],
        _(
            "Refused sign-ins are usually password guesses. Refused page views of ordinary "
            "visitors mean that the limit is too low; change it in the admin."
        ),
        _("There is no policy."),
    )
    blocked = Table(
        _("Blocked"),
        [_("Policy"), _("Caller"), _("Until")],
        [
            (row.policy, row.caller, date_format(localtime(row.until), "DATETIME_FORMAT"))
            for row in found.blocked
        ],
        _("Callers blocked by staff. Personal names are shown as a hash."),
        _("Nobody is blocked."),
    )
    tables = [
        policies,
        _callers(_("Most refused"), found.most_denied, _("Nobody was refused.")),
        _callers(_("Busiest"), found.busiest, _("No calls yet.")),
        blocked,
    ]
    return Section(_("Limits"), 40, [_fact(found)], tables)


def _fact(found: Summary) -> Fact:
    calls = sum(row.hits for row in found.policies)
    denied = sum(row.denied for row in found.policies)
    failed = sum(row.failed for row in found.policies)
    strict = any(
        row.hits >= ENOUGH and row.denied > MANY_DENIED * row.hits for row in found.policies
    )
    return Fact(
        _("Limits hit today"),
        number_format(denied),
        _(
            "Of %(calls)s calls. A few per cent are normal; more than a fifth of one policy's "
            "calls means an attack or a limit that is too low. %(failed)s could not be decided "
            "because Redis did not answer in time."
        )
        % {"calls": number_format(calls), "failed": number_format(failed)},
        warning=strict or failed > 0,
    )


def _callers(title: str, rows: Sequence[CallerRow], empty: str) -> Table:
    return Table(
        title,
        [_("Policy"), _("Caller"), _("Refusals")],
        [(row.policy, row.caller, number_format(row.count)) for row in rows],
        _("This hour and the one before."),
        empty,
    )
