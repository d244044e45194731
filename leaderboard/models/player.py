"""A player: an id given by a game, optionally an account, and how the player is shown."""

from __future__ import annotations

from string import ascii_uppercase

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.functions import Length
from django.db.models.lookups import Exact
from django.utils.translation import gettext_lazy as _

from leaderboard.models.constraints import one_of

LONGEST_ID = 256  # bytes, as the engine counts them


def validate_player_id(value: str) -> None:
    if not value or len(value.encode()) > LONGEST_ID:
        raise ValidationError(_("A player id has 1 to %(limit)s bytes.") % {"limit": LONGEST_ID})
    if any(sign < " " or sign == "\x7f" for sign in value):
        raise ValidationError(_("A player id cannot contain control characters."))


def validate_avatar(value: str) -> None:
    """The https address of a picture, or a short word from which one is drawn."""
    if ":" in value and not value.startswith("https://"):
        raise ValidationError(_("Enter an address that begins with https://, or a short word."))


# The name shown for anonymous players; pages translate it.
ANONYMOUS = "Anonymous"


class Player(models.Model):
    """An id is the same player on every board."""

    class Privacy(models.TextChoices):
        SHOWN = "shown", _("Shown")
        ANONYMOUS = "anonymous", _("Anonymous: the score is shown, the name is not")
        OPTED_OUT = "opted_out", _("Opted out: not shown at all")

    id = models.CharField(
        _("id"),
        max_length=LONGEST_ID,
        primary_key=True,
        validators=[validate_player_id],
        help_text=_("The player's id in the game. It cannot be changed later."),
    )
    account = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="player",
        verbose_name=_("account"),
    )
    display_name = models.CharField(_("display name"), max_length=60, blank=True)
    country = models.CharField(
        _("country"),
        max_length=2,
        blank=True,
        validators=[RegexValidator(r"^[A-Z]{2}$", _("Two capital letters, such as DE."))],
        help_text=_("Two letters, such as DE."),
    )
    team = models.CharField(_("team"), max_length=60, blank=True)
    avatar = models.CharField(
        _("picture"),
        max_length=300,
        blank=True,
        validators=[validate_avatar],
        help_text=_("An https:// address, or any short word: a picture is drawn from it."),
    )
    bio = models.TextField(_("about"), blank=True, max_length=500)
    privacy = models.CharField(
        _("visibility"), max_length=9, choices=Privacy, default=Privacy.SHOWN
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        verbose_name = _("player")
        verbose_name_plural = _("players")
        constraints = [
            one_of("player", "privacy", "shown", "anonymous", "opted_out"),
            models.CheckConstraint(condition=~Q(id=""), name="player_has_an_id"),
            # Trimming the letters leaves nothing. For a regular expression, SQLite would call
            # Python for every row.
            models.CheckConstraint(
                condition=Q(country="")
                | Q(
                    Exact(Func(F("country"), Value(ascii_uppercase), function="LTRIM"), Value("")),
                    Exact(Length("country"), Value(2)),
                ),
                name="player_country_is_two_letters",
            ),
        ]

    def __str__(self) -> str:
        return self.display_name or self.id
