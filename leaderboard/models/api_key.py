"""API keys of game servers, bots and scripts: what each may do, never the key itself."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from leaderboard.models.board import Board
from ratelimit import policies, sentence
from ratelimit.policy import Policy, PolicyError

PREFIX = "rk_"
POLICY = "api_key"  # the limit of keys without a rate of their own
SHOWN = 11  # characters kept so that people can tell keys apart; 208 of 256 bits stay secret


def digest_of(token: str) -> str:
    """The stored hash. A key has 256 random bits, so a plain hash cannot be reversed by search."""
    return hashlib.sha256(token.encode()).hexdigest()


class ApiKey(models.Model):
    """`Authorization: Bearer rk_…`. A change takes effect within 5 s in every process."""

    class Scope(models.TextChoices):
        READ = "read", _("Read: boards, including private ones")
        SUBMIT = "submit", _("Submit: scores, details and locations of players")
        MODERATE = "moderate", _("Moderate: remove players")
        ADMIN = "admin", _("Admin: close seasons, reset boards")

    name = models.CharField(
        _("name"), max_length=120, help_text=_("Who uses it, for example Game server Frankfurt.")
    )
    hint = models.CharField(_("begins with"), max_length=16, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(_("permissions"), default=list)
    all_boards = models.BooleanField(
        _("every board"),
        default=False,
        help_text=_("Including boards created later. Otherwise only the boards selected below."),
    )
    boards = models.ManyToManyField(
        Board, blank=True, related_name="api_keys", verbose_name=_("boards")
    )
    rate = models.CharField(
        _("rate"),
        max_length=200,
        blank=True,
        help_text=_(
            "For example 500/second, token bucket. Leave empty for the default limit of API keys."
        ),
    )
    expires_at = models.DateTimeField(
        _("expires"), null=True, blank=True, help_text=_("Leave empty for no expiry.")
    )
    is_service = models.BooleanField(
        _("service key"),
        default=False,
        help_text=_(
            "Keeps working when the account that created it is closed or deleted. Other keys stop."
        ),
    )
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        verbose_name=_("by"),
    )

    class Meta:
        ordering = ["name", "id"]
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="api_key_has_a_name"),
            models.CheckConstraint(condition=~Q(digest=""), name="api_key_has_a_digest"),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        known = self.Scope.values
        if not isinstance(self.scopes, list) or not set(self.scopes) <= set(known):
            raise ValidationError(
                {"scopes": _("Choose from: %(known)s.") % {"known": ", ".join(known)}}
            )
        try:
            policy = self.policy()
        except PolicyError as error:
            raise ValidationError(
                {
                    "rate": _("Cannot read “%(part)s”: expected %(expected)s.")
                    % {"part": error.part, "expected": error.expected}
                }
            ) from None
        if policy.has_leases:
            raise ValidationError(
                {
                    "rate": _(
                        "A key needs a rate such as 500/second, not a number of concurrent "
                        "requests."
                    )
                }
            )

    @property
    def has_maker(self) -> bool:
        """Whether the account that made the key is active; a service key needs none."""
        return self.is_service or (self.created_by is not None and self.created_by.is_active)

    def described(self) -> dict[str, Any]:
        """The key as the audit log records it."""
        return {
            "key": self.name,
            "begins_with": self.hint,
            "scopes": self.scopes,
            "is_service": self.is_service,
        }

    def policy(self) -> Policy:
        """The key's limit. Raise `PolicyError` if the rate cannot be parsed."""
        base = policies.get(POLICY)
        return sentence.parse(POLICY, self.rate, base=base) if self.rate.strip() else base

    def renew(self) -> str:
        """Set a new key and return it. It cannot be read again later."""
        token = PREFIX + secrets.token_urlsafe(32)
        self.hint = token[:SHOWN]
        self.digest = digest_of(token)
        return token

    @classmethod
    def make(cls, name: str, scopes: list[str], **values: Any) -> tuple[ApiKey, str]:
        """Create a key and return it with its text. Without `created_by` it is a service key."""
        boards = values.pop("boards", None)
        values.setdefault("is_service", values.get("created_by") is None)
        key = cls(name=name, scopes=scopes, **values)
        token = key.renew()
        key.full_clean()
        key.save()
        if boards is not None:
            key.boards.set(boards)
        return key, token
