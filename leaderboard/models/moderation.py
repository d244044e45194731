"""Restrictions of players, and the audit log."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from leaderboard.models.board import Board
from leaderboard.models.constraints import one_of
from leaderboard.models.player import Player


class RestrictionQuerySet(models.QuerySet["Restriction"]):
    def active(self) -> RestrictionQuerySet:
        now = timezone.now()
        return self.filter(Q(until__isnull=True) | Q(until__gt=now), lifted_at__isnull=True)

    def expired(self) -> RestrictionQuerySet:
        return self.filter(until__lte=timezone.now(), lifted_at__isnull=True)


class Restriction(models.Model):
    """Hidden: keeps playing, unseen. Banned: hidden, and new scores are refused."""

    class Kind(models.TextChoices):
        HIDDEN = "hidden", _("Hidden: the score is kept but not shown")
        BANNED = "banned", _("Banned: not shown, and new scores are refused")

    player = models.ForeignKey(
        Player, on_delete=models.CASCADE, related_name="restrictions", verbose_name=_("player")
    )
    board = models.ForeignKey(
        Board,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="restrictions",
        verbose_name=_("board"),
        help_text=_("Leave empty for every board, including boards created later."),
    )
    kind = models.CharField(_("kind"), max_length=6, choices=Kind)
    reason = models.CharField(_("reason"), max_length=500)
    until = models.DateTimeField(
        _("until"), null=True, blank=True, help_text=_("Leave empty for no end.")
    )
    created_at = models.DateTimeField(_("since"), auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("by"),
    )
    lifted_at = models.DateTimeField(_("lifted"), null=True, blank=True)

    objects = RestrictionQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name = _("restriction")
        verbose_name_plural = _("restrictions")
        constraints = [
            one_of("restriction", "kind", "hidden", "banned"),
            models.UniqueConstraint(
                fields=["player", "board"],
                condition=Q(lifted_at__isnull=True, board__isnull=False),
                name="one_restriction_per_player_and_board",
            ),
            models.UniqueConstraint(
                fields=["player"],
                condition=Q(lifted_at__isnull=True, board__isnull=True),
                name="one_restriction_per_player_on_all_boards",
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="restriction_has_a_reason"),
            models.CheckConstraint(
                condition=Q(until__isnull=True) | Q(until__gt=F("created_at")),
                name="restriction_ends_after_it_began",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.player}: {self.get_kind_display()}"


class AuditEntry(models.Model):
    """One action of staff, an API key or a command. Written once, never changed."""

    at = models.DateTimeField(_("when"), auto_now_add=True, db_index=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=_("account"),
    )
    # Kept when the account is deleted. The name of the API key or command if there is no account.
    actor_name = models.CharField(_("who"), max_length=150)
    action = models.CharField(_("what"), max_length=64)
    board = models.ForeignKey(
        Board, on_delete=models.SET_NULL, null=True, related_name="+", verbose_name=_("board")
    )
    player_id = models.CharField(_("player"), max_length=256, blank=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    data = models.JSONField(_("details"), default=dict)

    class Meta:
        ordering = ["-at", "-id"]
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit log")

    def __str__(self) -> str:
        return f"{self.actor_name}: {self.action}"
