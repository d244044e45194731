"""Overrides that staff make at run time."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from ratelimit import policies
from ratelimit.policy import PolicyError


class PolicyOverride(models.Model):
    """Overrides a policy of the settings, in every process within five seconds."""

    policy = models.CharField(_("policy"), max_length=64, unique=True)
    sentence = models.CharField(
        _("sentence"),
        max_length=500,
        help_text=_(
            "For example “20/minute”, or “20/minute by ip, gcra, burst 5, shadow”. Parts that "
            "you leave out stay as in the settings."
        ),
    )
    active = models.BooleanField(_("active"), default=True)
    note = models.CharField(_("note"), max_length=200, blank=True)
    changed_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        ordering = ["policy"]
        verbose_name = _("policy override")
        verbose_name_plural = _("policy overrides")

    def __str__(self) -> str:
        return f"{self.policy}: {self.sentence}"

    def clean(self) -> None:
        try:
            policies.overridden(self.policy, self.sentence)
        except policies.UnknownPolicyError:
            known = ", ".join(policies.names())
            message = _("There is no such policy in the settings. Choose from: %(known)s.") % {
                "known": known
            }
            raise ValidationError({"policy": message}) from None
        except PolicyError as error:
            raise ValidationError({"sentence": str(error)}) from None
