"""A board: its address, rules, schedule, and who may see it."""

from __future__ import annotations

import re
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.engine import RedisLeaderboard
from leaderboard.models.constraints import one_of
from leaderboard.models.schedule import validate_cron, validate_zone

NEVER_TRIMMED = 2**31
SLUG_PATTERN = r"^[a-z0-9]+(-[a-z0-9]+)*$"
LONGEST_SLUG = 64


class BoardQuerySet(models.QuerySet["Board"]):
    def at(self, slug: str) -> BoardQuerySet:
        """The board with this slug, if any. A text that cannot be a slug is sent neither to SQL
        nor, in a key, to Redis."""
        is_slug = len(slug) <= LONGEST_SLUG and re.fullmatch(SLUG_PATTERN, slug)
        return self.filter(slug=slug) if is_slug else self.none()


class Board(models.Model):
    class Order(models.TextChoices):
        DESC = "desc", _("Highest first")
        ASC = "asc", _("Lowest first")

    class Operator(models.TextChoices):
        BEST = "best", _("Keep the best")
        SET = "set", _("Keep the latest")
        SUM = "sum", _("Add up")

    class Ties(models.TextChoices):
        EARLIEST = "earliest", _("First to reach it")
        LATEST = "latest", _("Last to reach it")
        MEMBER = "member", _("By player id")

    class Ranking(models.TextChoices):
        ORDINAL = "ordinal", _("1 2 3 4: every place once")
        COMPETITION = "competition", _("1 2 2 4: equal scores share a place")
        DENSE = "dense", _("1 2 2 3: equal scores share a place, none is skipped")

    class Window(models.TextChoices):
        DAY = "day", _("Today")
        WEEK = "week", _("This week")
        MONTH = "month", _("This month")
        ALL = "all", _("All time")

    class Group(models.TextChoices):
        COUNTRY = "country", _("Country")
        TEAM = "team", _("Team")

    class ScoreFormat(models.TextChoices):
        POINTS = "points", _("Points: 12,345")
        DECIMALS = "decimals", _("Decimals: 12.50")
        DURATION = "duration", _("Duration: the score is in seconds, shown as 1:02.345")

    class Schedule(models.TextChoices):
        MANUAL = "manual", _("By hand")
        DAILY = "daily", _("Every day")
        WEEKLY = "weekly", _("Every week, from Monday")
        MONTHLY = "monthly", _("Every month")
        CRON = "cron", _("By a cron line")

    class Visibility(models.TextChoices):
        PUBLIC = "public", _("Public: listed for everyone")
        UNLISTED = "unlisted", _("Unlisted: anyone who has the address")
        PRIVATE = "private", _("Private: members and staff")

    class Submitters(models.TextChoices):
        API = "api", _("API keys and staff only")
        PLAYERS = "players", _("Signed-in players, for themselves")
        DEMO = "demo", _("Anyone, for anyone: a demo")

    class Durability(models.TextChoices):
        PRIMARY = "primary", _("As soon as Redis has it")
        REPLICATED = "replicated", _("When a replica of Redis has it too")

    slug = models.CharField(
        _("address"),
        max_length=LONGEST_SLUG,
        unique=True,
        validators=[
            RegexValidator(
                SLUG_PATTERN,
                _("Use lowercase letters, digits and single hyphens, such as summer-cup."),
            )
        ],
        help_text=_(
            "The board's address under /boards/, such as summer-cup: lowercase letters, digits "
            "and hyphens. It also names the board's keys in Redis and cannot be changed later."
        ),
    )
    name = models.CharField(_("name"), max_length=120)
    description = models.TextField(_("description"), blank=True, max_length=2000)

    order = models.CharField(
        _("order"),
        max_length=4,
        choices=Order,
        default=Order.DESC,
        help_text=_("Highest first suits points; lowest first suits times and golf."),
    )
    operator = models.CharField(
        _("a new score"),
        max_length=4,
        choices=Operator,
        default=Operator.BEST,
        help_text=_(
            "How a submitted score changes the one on the board. A game server can choose "
            "another way for a single request."
        ),
    )
    ties = models.CharField(
        _("equal scores"),
        max_length=8,
        choices=Ties,
        default=Ties.EARLIEST,
        help_text=_("Who ranks higher when two players have the same score."),
    )
    ranking = models.CharField(
        _("places"),
        max_length=11,
        choices=Ranking,
        default=Ranking.ORDINAL,
        help_text=_("How places are numbered when scores are equal."),
    )
    subscore_order = models.CharField(
        _("second number"),
        max_length=4,
        choices=Order,
        blank=True,
        default="",
        help_text=_(
            "When set, a score can include a second number that decides between equal scores "
            "before the time does, such as the number of moves."
        ),
    )
    max_entries = models.PositiveIntegerField(
        _("size limit"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Only this many players stay on the board. Leave empty for no limit."),
    )
    lowest_score = models.FloatField(
        _("lowest score"), null=True, blank=True, help_text=_("A score below this is refused.")
    )
    highest_score = models.FloatField(
        _("highest score"), null=True, blank=True, help_text=_("A score above this is refused.")
    )
    largest_step = models.FloatField(
        _("largest step"),
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_("A submission that changes a score by more than this is refused."),
    )
    first_step = models.BooleanField(
        _("largest step for first scores"),
        default=False,
        help_text=_("The largest step also applies to a player's first score, counted from 0."),
    )
    windows = models.JSONField(
        _("windows"),
        default=list,
        blank=True,
        help_text=_(
            "Standings kept alongside the season: today, this week, this month, all time. They "
            "use the board's time zone."
        ),
    )
    groups = models.JSONField(
        _("groups"),
        default=list,
        blank=True,
        help_text=_("Rank the players of one country or one team among themselves."),
    )

    time_zone = models.CharField(
        _("time zone"),
        max_length=64,
        default="UTC",
        validators=[validate_zone],
        help_text=_(
            "Days, weeks and seasons begin at midnight in this time zone, such as Europe/Berlin."
        ),
    )
    schedule = models.CharField(
        _("seasons"),
        max_length=7,
        choices=Schedule,
        default=Schedule.MANUAL,
        help_text=_("When a season ends and the next begins."),
    )
    cron = models.CharField(
        _("cron line"),
        max_length=100,
        blank=True,
        validators=[validate_cron],
        help_text=_("Minute, hour, day, month, weekday: 0 18 * * 5 is every Friday at 18:00."),
    )

    score_format = models.CharField(
        _("score format"), max_length=8, choices=ScoreFormat, default=ScoreFormat.POINTS
    )
    score_decimals = models.PositiveSmallIntegerField(
        _("decimals"),
        default=0,
        validators=[MaxValueValidator(6)],
        help_text=_("Decimal places, for decimals and durations."),
    )
    unit = models.CharField(
        _("unit"), max_length=16, blank=True, help_text=_("Shown beside the score: pts, €, km.")
    )

    visibility = models.CharField(
        _("who sees it"), max_length=8, choices=Visibility, default=Visibility.PUBLIC
    )
    submitters = models.CharField(
        _("who submits"), max_length=7, choices=Submitters, default=Submitters.API
    )
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        blank=True,
        related_name="boards",
        verbose_name=_("members"),
        help_text=_("Accounts that can see the board while it is private."),
    )
    history_days = models.PositiveIntegerField(
        _("keep single scores for"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_(
            "Days. Older single scores of finished seasons are deleted; final standings stay. "
            "Leave empty to keep them forever."
        ),
    )
    durability = models.CharField(
        _("a score counts"),
        max_length=10,
        choices=Durability,
        default=Durability.PRIMARY,
        help_text=_(
            "With a replica's confirmation, no acknowledged score is lost when a Redis server "
            "fails, and each write takes a little longer. Without a replica, every score is "
            "refused."
        ),
    )
    revision = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = BoardQuerySet.as_manager()

    class Meta:
        ordering = ["name", "slug"]
        verbose_name = _("board")
        verbose_name_plural = _("boards")
        permissions = [
            ("moderate_board", "Can edit, remove, hide and ban players"),
            ("manage_seasons", "Can open and close seasons"),
            ("reset_board", "Can reset and rebuild boards"),
        ]
        constraints = [
            one_of("board", "order", "asc", "desc"),
            one_of("board", "operator", "best", "set", "sum"),
            one_of("board", "ties", "earliest", "latest", "member"),
            one_of("board", "ranking", "ordinal", "competition", "dense"),
            one_of("board", "subscore_order", "", "asc", "desc"),
            one_of("board", "schedule", "manual", "daily", "weekly", "monthly", "cron"),
            one_of("board", "score_format", "points", "decimals", "duration"),
            one_of("board", "visibility", "public", "unlisted", "private"),
            one_of("board", "submitters", "api", "players", "demo"),
            one_of("board", "durability", "primary", "replicated"),
            models.CheckConstraint(
                condition=Q(slug__regex=SLUG_PATTERN), name="board_slug_is_an_address"
            ),
            models.CheckConstraint(condition=~Q(name=""), name="board_has_a_name"),
            models.CheckConstraint(
                condition=Q(max_entries__isnull=True) | Q(max_entries__gte=1),
                name="board_size_limit_is_positive",
            ),
            models.CheckConstraint(
                condition=Q(lowest_score__isnull=True)
                | Q(highest_score__isnull=True)
                | Q(lowest_score__lte=F("highest_score")),
                name="board_lowest_score_is_not_above_highest",
            ),
            models.CheckConstraint(
                condition=Q(largest_step__isnull=True) | Q(largest_step__gte=0),
                name="board_largest_step_is_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(schedule="cron") & ~Q(cron="") | ~Q(schedule="cron") & Q(cron=""),
                name="board_has_a_cron_line_only_with_that_schedule",
            ),
            models.CheckConstraint(
                condition=Q(history_days__isnull=True) | Q(history_days__gte=1),
                name="board_history_days_are_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("board", args=[self.slug])

    @property
    def key(self) -> str:
        """The base of all this board's keys in Redis."""
        return keys.base(self.slug)

    @property
    def version(self) -> str:
        """Part of every ETag: other rules make other answers of the same entries."""
        return format(int(self.updated_at.timestamp() * 1e6), "x")

    @property
    def sum_decimals(self) -> int | None:
        """The precision of sums; None on boards that show no decimals."""
        if self.score_format == self.ScoreFormat.POINTS:
            return None
        return self.score_decimals or None

    def rules(self) -> dict[str, Any]:
        """The board's rules, as arguments of the engine."""
        return {
            "order": self.order,
            "operator": self.operator,
            "ties": self.ties,
            "ranking": self.ranking,
            "subscore": self.subscore_order or None,
            "lowest": self.lowest_score,
            "highest": self.highest_score,
            "largest_step": self.largest_step,
            "first_step": self.first_step,
            "decimals": self.sum_decimals,
            "windows": tuple(self.windows),
            "groups": tuple(self.groups),
            "time_zone": self.time_zone,
            "events": True,
            # Only the worker trims, after it has stored the events: a cap in the write itself would
            # drop scores that are not in SQL yet.
            "event_cap": NEVER_TRIMMED,
            "notices": True,
            "durability": self.durability,
            "printable_ids": True,
        }

    def engine(self, season: int | None = None) -> RedisLeaderboard:
        """The live board of a season, by default the running one, which costs a round trip to find.

        Not to be shared between threads.
        """
        if season is None:
            season = int(get_redis().hget(keys.season_pointer(self.key), "number") or 1)
        return RedisLeaderboard(
            get_redis(), self.key, self.max_entries, season=season, **self.rules()
        )

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    def clean(self) -> None:
        errors: dict[str, Any] = {}
        if self.schedule == self.Schedule.CRON and not self.cron:
            errors["cron"] = _("A cron schedule needs a cron line.")
        if self.schedule != self.Schedule.CRON and self.cron:
            errors["cron"] = _("A cron line works only with the cron schedule.")
        if (
            self.lowest_score is not None
            and self.highest_score is not None
            and self.lowest_score > self.highest_score
        ):
            errors["lowest_score"] = _("The lowest score is above the highest.")
        for field, known in (("windows", self.Window), ("groups", self.Group)):
            value = getattr(self, field)
            if not isinstance(value, list) or not set(value) <= set(known.values):
                errors[field] = _("Choose from: %(known)s.") % {"known": ", ".join(known.values)}
        if errors:
            raise ValidationError(errors)
