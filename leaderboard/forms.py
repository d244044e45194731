"""Forms of the boards' pages. They check what a person typed; services decide."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

from leaderboard.models import Player
from leaderboard.models.player import validate_avatar, validate_player_id
from leaderboard.services.profiles import PROFILE_FIELDS

MOST_LINES = 100


class DetailsForm(forms.Form):
    """What stands beside a score; empty fields leave it as it is."""

    name = forms.CharField(label=_("Name"), max_length=60, required=False)
    country = forms.CharField(
        label=_("Country"),
        max_length=2,
        required=False,
        validators=[RegexValidator(r"^[A-Z]{2}$", _("Two capital letters, such as DE."))],
    )
    team = forms.CharField(label=_("Team"), max_length=60, required=False)
    avatar = forms.CharField(
        label=_("Picture"), max_length=300, required=False, validators=[validate_avatar]
    )

    def details(self) -> dict[str, str]:
        names = ("name", "country", "team", "avatar")
        return {name: self.cleaned_data[name] for name in names if self.cleaned_data.get(name)}


def _player_field() -> forms.CharField:
    return forms.CharField(
        label=_("Player id"), max_length=256, validators=[validate_player_id], strip=True
    )


class SetScoreForm(DetailsForm):
    player_id = _player_field()
    score = forms.FloatField(label=_("Score"), required=False)
    field_order = ("player_id", "score")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("score") is None and not self.errors and not self.details():
            self.add_error("score", _("Give a score, or a detail to change."))
        return data


class AddPointsForm(forms.Form):
    player_id = _player_field()
    amount = forms.FloatField(label=_("Points to add"), help_text=_("Negative ones are taken off."))


class TopForm(forms.Form):
    count = forms.IntegerField(label=_("How many"), min_value=1, max_value=MOST_LINES, initial=10)


class AroundForm(forms.Form):
    rank = forms.IntegerField(label=_("Rank"), min_value=1, max_value=2**31, initial=10)
    count = forms.IntegerField(label=_("How many"), min_value=1, max_value=MOST_LINES, initial=5)


class LimitForm(forms.Form):
    limit = forms.IntegerField(
        label=_("Size limit"),
        min_value=1,
        max_value=2**31 - 1,
        required=False,
        help_text=_("Empty: no limit."),
    )


class ResetForm(forms.Form):
    sure = forms.BooleanField(label=_("Yes, replace the scores of the running season"))


class SubmitForm(forms.Form):
    """A player's own score."""

    score = forms.FloatField(label=_("Score"))


class ProfileForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Player
        fields = ["display_name", "country", "team", "avatar", "bio", "privacy"]
        widgets = {"bio": forms.Textarea(attrs={"rows": 3}), "privacy": forms.RadioSelect}

    def clean_country(self) -> str:
        country: str = self.cleaned_data["country"]
        return country.upper()

    def changes(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in PROFILE_FIELDS}
