"""Seasons and their final standings."""

from __future__ import annotations

from datetime import date

from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from leaderboard.models.board import Board
from leaderboard.models.constraints import one_of


class Season(models.Model):
    """One run of a board. While it is open, Redis holds its standings; afterwards SQL does.

    The season pointer in Redis decides which season a score lands in. These rows follow it.
    """

    class State(models.TextChoices):
        PLANNED = "planned", _("planned")
        OPEN = "open", _("open")
        CLOSING = "closing", _("being archived")
        CLOSED = "closed", _("closed")

    board = models.ForeignKey(Board, on_delete=models.CASCADE, related_name="seasons")
    number = models.PositiveIntegerField(_("number"))
    # Blank unless somebody gave one; `title` is what people see.
    name = models.CharField(_("name"), max_length=120, blank=True)
    # See `schedule.period_of`. Kept, because the schedule and zone of the board may change. A
    # second season within one period has its number after a space.
    period = models.CharField(max_length=22, blank=True, editable=False)
    state = models.CharField(_("state"), max_length=7, choices=State, default=State.OPEN)
    opens = models.DateTimeField(_("opens"))
    closes = models.DateTimeField(
        _("closes"), null=True, blank=True, help_text=_("Leave empty to close it by hand.")
    )
    closed_at = models.DateTimeField(_("closed at"), null=True, blank=True, editable=False)
    entries = models.PositiveIntegerField(_("players"), default=0, editable=False)
    # The largest fencing number of the lock that archived: a holder that lost it writes nothing.
    fence = models.PositiveBigIntegerField(default=0, editable=False)

    class Meta:
        ordering = ["board", "-number"]
        verbose_name = _("season")
        verbose_name_plural = _("seasons")
        constraints = [
            one_of("season", "state", "planned", "open", "closing", "closed"),
            models.UniqueConstraint(fields=["board", "number"], name="season_number_is_unique"),
            models.UniqueConstraint(
                fields=["board"], condition=Q(state="open"), name="board_has_one_open_season"
            ),
            models.CheckConstraint(condition=Q(number__gte=1), name="season_number_is_positive"),
            models.CheckConstraint(
                condition=Q(closes__isnull=True) | Q(closes__gt=F("opens")),
                name="season_closes_after_it_opens",
            ),
            models.CheckConstraint(
                condition=~Q(state="closed") | Q(closed_at__isnull=False),
                name="closed_season_has_its_time",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("season", args=[self.board.slug, self.number])

    @property
    def title(self) -> str:
        return season_title(self.name, self.period, self.number)

    def advance(self, state: str, **values: object) -> bool:
        """Move on to `state` and set `values` with it; False, and nothing changes, when the season
        is past that state. Decided by the database, because a caller that read the pointer long
        ago may come after the archive: closed is final."""
        before = FROM[Season.State(state)]
        values |= {"state": state}
        moved = Season.objects.filter(pk=self.pk, state__in=before).update(**values)
        if moved:
            for name, value in values.items():
                setattr(self, name, value)
        return bool(moved)


def season_title(name: str, period: str, number: int) -> str:
    """The name that somebody gave, or one made from period and number in the reader's language."""
    if name:
        return name
    numbered = gettext("Season %(number)s") % {"number": number}
    period, *is_second = period.split(" ")
    if not period:
        return numbered
    return f"{_period_text(period)}, {numbered}" if is_second else _period_text(period)


def _period_text(period: str) -> str:
    year, *week = period.split("-W")
    if week:
        return gettext("Week %(week)s, %(year)s") % {"week": int(week[0]), "year": year}
    if len(period) == len("2026-11"):
        return date_format(date.fromisoformat(f"{period}-01"), "YEAR_MONTH_FORMAT")
    # English names do not abbreviate the month, as Django's English DATE_FORMAT does.
    form = "j F Y" if get_language() == "en" else "DATE_FORMAT"
    return date_format(date.fromisoformat(period), form)


# The states from which a season may enter, or stay in, each state.
FROM = {
    Season.State.PLANNED: (Season.State.PLANNED,),
    Season.State.OPEN: (Season.State.PLANNED, Season.State.OPEN),
    Season.State.CLOSING: (Season.State.PLANNED, Season.State.OPEN, Season.State.CLOSING),
    Season.State.CLOSED: (Season.State.OPEN, Season.State.CLOSING),
}


class FinalStanding(models.Model):
    """One player's rank when a season ended, with the details of that day.

    The player is an id, not a foreign key: the archive outlives the player's row.
    """

    # No index of its own: `final_position_is_unique` begins with the season.
    season = models.ForeignKey(
        Season, on_delete=models.CASCADE, related_name="standings", db_index=False
    )
    # 1 to n without gaps, for paging; `rank` may repeat, by the board's ranking.
    position = models.PositiveIntegerField()
    rank = models.PositiveIntegerField()
    player_id = models.CharField(max_length=256)
    name = models.CharField(max_length=256, blank=True)
    score = models.FloatField()
    subscore = models.FloatField(null=True)
    details = models.JSONField(default=dict)

    class Meta:
        ordering = ["season", "position"]
        constraints = [
            models.UniqueConstraint(fields=["season", "position"], name="final_position_is_unique"),
            # Player first: the same index answers "all seasons of this player".
            models.UniqueConstraint(
                fields=["player_id", "season"], name="final_player_stands_once"
            ),
            models.CheckConstraint(
                condition=Q(rank__gte=1) & Q(rank__lte=F("position")),
                name="final_rank_is_not_behind_position",
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.rank} {self.name or self.player_id}"
