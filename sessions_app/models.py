"""Flags, and how names look."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from sessions_app.names import LONGEST_LOOK


class Flag(models.Model):
    """A feature that is not for everybody, or not yet."""

    class State(models.TextChoices):
        OFF = "off", _("Off")
        ON = "on", _("On for everyone")
        PERCENTAGE = "percentage", _("On for a percentage of visitors and for named users")
        USERS = "users", _("On for named users")

    name = models.SlugField(
        _("name"), unique=True, help_text=_("The name that the code uses. Do not rename it.")
    )
    description = models.CharField(_("what it does"), max_length=200, blank=True)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.OFF)
    percentage = models.PositiveSmallIntegerField(
        _("percentage"),
        default=0,
        validators=[MaxValueValidator(100)],
        help_text=_("The same people stay included when it grows."),
    )
    users = models.ManyToManyField(
        settings.AUTH_USER_MODEL, blank=True, related_name="+", verbose_name=_("named users")
    )

    class Meta:
        ordering = ["name"]
        verbose_name = _("feature flag")
        verbose_name_plural = _("feature flags")
        constraints = [
            models.CheckConstraint(
                condition=Q(percentage__lte=100), name="flag_percentage_is_at_most_100"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["off", "on", "percentage", "users"]),
                name="flag_state_is_known",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class NameLook(models.Model):
    """How an account's name looks, see `sessions_app.names`. Not unique: older accounts, and those
    that a command creates, may look alike."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    look = models.CharField(max_length=LONGEST_LOOK, db_index=True)

    def __str__(self) -> str:
        return self.look
