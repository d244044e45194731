"""Forms of the admin's own pages."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.admin.widgets import AdminSplitDateTime
from django.utils.translation import gettext_lazy as _

from leaderboard.models import Board

if TYPE_CHECKING:
    BoardModelForm = forms.ModelForm[Board]
else:  # Django's own class takes no parameter when it runs
    BoardModelForm = forms.ModelForm


class BoardForm(BoardModelForm):
    """Model and fields are the admin's to say: `BoardAdmin.fieldsets` chooses them."""

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
            "The board's page can be filtered by these, and players of one country or one team are "
            "ranked among themselves. New boards have both; each costs some memory per player."
        ),
    )

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        if self.instance._state.adding:
            self.initial["groups"] = list(Board.Group.values)


class ModerationForm(forms.Form):
    """What to do with one player, and why."""

    SCORE, REMOVE, HIDE, BAN, LIFT = "score", "remove", "hide", "ban", "lift"
    action = forms.ChoiceField(
        label=_("Do"),
        widget=forms.RadioSelect,
        choices=[
            (SCORE, _("Set the score")),
            (REMOVE, _("Remove from the board: the score is lost")),
            (HIDE, _("Hide: keeps the score, is not shown")),
            (BAN, _("Ban: not shown, and new scores are refused")),
            (LIFT, _("Lift the restriction: shown again")),
        ],
    )
    score = forms.FloatField(label=_("New score"), required=False)
    until = forms.SplitDateTimeField(
        label=_("Until"),
        required=False,
        widget=AdminSplitDateTime,
        help_text=_("For hiding and banning. Empty: until somebody lifts it."),
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
            self.add_error("score", _("Give the new score."))
        return values


class CloseSeasonForm(forms.Form):
    # The season that the person looked at: another one must not be closed in its place.
    number = forms.IntegerField(widget=forms.HiddenInput)
    open_next = forms.BooleanField(
        label=_("Begin the next season in the same instant"), required=False
    )


class OpenSeasonForm(forms.Form):
    name = forms.CharField(
        label=_("Name"), max_length=120, required=False, help_text=_("Empty: a name is made.")
    )
    opens = forms.SplitDateTimeField(
        label=_("Opens"), required=False, widget=AdminSplitDateTime, help_text=_("Empty: now.")
    )
    closes = forms.SplitDateTimeField(
        label=_("Closes"),
        required=False,
        widget=AdminSplitDateTime,
        help_text=_("Empty: by hand, or by the board's schedule."),
    )

    def __init__(self, *args: Any, board: Board, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("opens", "closes"):
            field = self.fields[name]
            zone = _("Time in %(zone)s.") % {"zone": board.time_zone}
            field.help_text = f"{field.help_text} {zone}"

    def times(self) -> dict[str, datetime | None]:
        return {name: self.cleaned_data[name] for name in ("opens", "closes")}


class ResetForm(forms.Form):
    scope = forms.ChoiceField(
        label=_("What"),
        widget=forms.RadioSelect,
        initial="season",
        choices=[
            ("season", _("The running season; past seasons and the score log stay")),
            ("live", _("All scores and the score log; final standings stay")),
            ("all", _("Everything: the board is as new")),
        ],
    )
    slug = forms.CharField(label=_("Type the board's address to be sure"))

    def __init__(self, *args: Any, board: Board, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.board = board

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug != self.board.slug:
            raise forms.ValidationError(
                _("That is not this board's address: %(slug)s.") % {"slug": self.board.slug}
            )
        return slug


class RebuildForm(forms.Form):
    check_only = forms.BooleanField(label=_("Only compare, change nothing"), required=False)
    allow_loss = forms.BooleanField(
        label=_("Allow losing entries that the score log does not have"),
        required=False,
        help_text=_("Without it, a rebuild that would lose entries is refused and names them."),
    )
