"""Forms for staff."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from ratelimit import callers, policies, services
from ratelimit.models import PolicyOverride


def _policy_choices() -> list[tuple[str, str]]:
    return [(name, name) for name in policies.names()]


class PolicyOverrideForm(forms.ModelForm):  # type: ignore[type-arg]
    policy = forms.ChoiceField(label=_("Policy"), choices=_policy_choices)

    class Meta:
        model = PolicyOverride
        fields = ["policy", "sentence", "active", "note"]
        widgets = {"sentence": forms.TextInput(attrs={"size": 90})}


class CallerForm(forms.Form):
    """One caller of one policy, and an action."""

    policy = forms.ChoiceField(label=_("Policy"), choices=_policy_choices)
    caller = forms.CharField(
        label=_("Caller"),
        max_length=400,
        help_text=_(
            "A value for each part of the policy after “by”, such as “ip=203.0.113.7 "
            "username=ada” or “user=42”; or a name from the lists below."
        ),
        widget=forms.TextInput(attrs={"size": 60}),
    )
    hours = forms.FloatField(
        label=_("Hours to block"),
        initial=1,
        min_value=1 / 3600,
        max_value=services.LONGEST_BLOCK / 3600,
        required=False,
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if "policy" in data and "caller" in data:
            try:
                data["name"] = callers.from_text(policies.get(data["policy"]).by, data["caller"])
            except ValueError as error:
                self.add_error("caller", str(error))
        return data
