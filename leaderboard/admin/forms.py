"""Forms of boards and of moderation in the admin."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminSplitDateTime
from django.utils.translation import gettext_lazy as _

from leaderboard.models import Board


class BoardForm(forms.ModelForm):  # type: ignore[type-arg]
    """`BoardAdmin` sets the model, and the fields by its `fieldsets`."""

    windows = forms.MultipleChoiceField(
        label=_("Windows"),
        choices=Board.Window.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=Board._meta.get_field("windows").help_text,
    )
    groups = forms.MultipleChoiceField(
        label=_("Groups"),
        choices=Board.Group.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "The board's page can be filtered by these, and players of one country or one "
            "team are ranked among themselves. New boards have both; each uses some memory "
            "per player."
        ),
    )

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        if self.instance._state.adding:
            self.initial["groups"] = list(Board.Group.values)


class ModerationForm(forms.Form):
    """An action on one player, and its reason."""

    SCORE, REMOVE, HIDE, BAN, LIFT = "score", "remove", "hide", "ban", "lift"
    action = forms.ChoiceField(
        label=_("Action"),
        widget=forms.RadioSelect,
        choices=[
            (SCORE, _("Set the score")),
            (REMOVE, _("Remove from the board: the score is deleted")),
            (HIDE, _("Hide: the score is kept but not shown")),
            (BAN, _("Ban: not shown, and new scores are refused")),
            (LIFT, _("Lift the restriction: shown again")),
        ],
    )
    score = forms.FloatField(label=_("New score"), required=False)
    until = forms.SplitDateTimeField(
        label=_("Until"),
        required=False,
        widget=AdminSplitDateTime,
        help_text=_("For hiding and banning. Leave empty for no end."),
    )
    everywhere = forms.BooleanField(
        label=_("On every board"), required=False, help_text=_("For hiding, banning and lifting.")
    )
    reason = forms.CharField(
        label=_("Reason"), max_length=500, help_text=_("Kept in the audit log.")
    )

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if values.get("action") == self.SCORE and values.get("score") is None:
            self.add_error("score", _("Enter the new score."))
        return values
