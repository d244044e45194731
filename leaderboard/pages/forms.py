"""Forms of the boards' pages. They validate input; services decide."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from leaderboard.boards.profiles import PROFILE_FIELDS
from leaderboard.boards.together import MOST_SOURCES
from leaderboard.models import Board, Player, Season
from leaderboard.models.player import validate_avatar, validate_player_id
from leaderboard.presentation import LONGEST_DESCRIPTION, duration_text, score_text

MOST_LINES = 100
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d+(?:\.\d*)?)")


class ScoreField(forms.FloatField):
    """A score as the board shows it: on a board of times 1:02.345 as well as 62.345. Digits that
    the board does not show are refused, so that every score is shown exactly."""

    def __init__(self, board: Board, **options: Any) -> None:
        self.is_time = board.score_format == Board.ScoreFormat.DURATION
        self.decimals = board.sum_decimals or 0
        widget = (
            forms.TextInput()
            if self.is_time
            else forms.NumberInput({"step": f"{10**-self.decimals:.{self.decimals}f}"})
        )
        label = f"{_('Score')} ({board.unit})" if board.unit else _("Score")
        super().__init__(label=label, widget=widget, help_text=_score_help(board), **options)

    def validate(self, value: Any) -> None:
        super().validate(value)
        if value is None or round(value, self.decimals) == value:
            return
        if not self.decimals:
            raise ValidationError(_("This board accepts only whole numbers."), code="decimals")
        text = ngettext(
            "This board accepts at most %(count)s decimal place.",
            "This board accepts at most %(count)s decimal places.",
            self.decimals,
        )
        raise ValidationError(text, code="decimals", params={"count": self.decimals})

    def to_python(self, value: Any) -> float | None:  # type: ignore[override]  # as FloatField's
        if self.is_time and isinstance(value, str):
            value = value.strip().replace(",", ".")
            if clock := _CLOCK.fullmatch(value):
                hours, minutes, seconds = clock.groups()
                return int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds)
        number: float | None = super().to_python(value)
        return number


def _score_help(board: Board) -> str:
    """How to write a score, and which ones the board accepts."""
    parts: list[Any] = []
    is_time = board.score_format == Board.ScoreFormat.DURATION
    if is_time:
        example = {"example": duration_text(62.345, board.score_decimals)}
        parts.append(_("Minutes and seconds, such as %(example)s, or seconds alone.") % example)
    shown = {
        name: score_text(board, value)
        for name, value in (("low", board.lowest_score), ("high", board.highest_score))
        # On a board of times, a lowest score of 0 goes without saying.
        if value is not None and (value or not is_time)
    }
    if len(shown) == 2:
        parts.append(_("From %(low)s to %(high)s.") % shown)
    elif "low" in shown:
        parts.append(_("At least %(low)s.") % shown)
    elif shown:
        parts.append(_("At most %(high)s.") % shown)
    return " ".join(map(str, parts))


class CountryField(forms.CharField):
    """Two letters, in lower or upper case."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value) or "").upper()


def _player_field() -> forms.CharField:
    return forms.CharField(label=_("Player id"), max_length=256, validators=[validate_player_id])


class SetScoreForm(forms.Form):
    """A score and details of a player. Empty fields change nothing."""

    field_order = ("player_id", "score")
    player_id = _player_field()
    name = forms.CharField(label=_("Name"), max_length=60, required=False)
    country = CountryField(
        label=_("Country"),
        max_length=2,
        required=False,
        validators=[RegexValidator(r"^[A-Z]{2}$", _("Two capital letters, such as DE."))],
    )
    team = forms.CharField(label=_("Team"), max_length=60, required=False)
    avatar = forms.CharField(
        label=_("Picture"), max_length=300, required=False, validators=[validate_avatar]
    )
    description = forms.CharField(
        label=_("Description"),
        max_length=LONGEST_DESCRIPTION,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def __init__(self, *args: Any, board: Board, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["score"] = ScoreField(board, required=False)
        self.order_fields(self.field_order)

    def details(self) -> dict[str, str]:
        others = ("player_id", "score")
        given = self.cleaned_data.items()
        return {name: value for name, value in given if value and name not in others}

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("score") is None and not self.errors and not self.details():
            self.add_error("score", _("Enter a score or a detail to change."))
        return data


class AddPointsForm(forms.Form):
    player_id = _player_field()
    amount = forms.FloatField(
        label=_("Points to add"), help_text=_("Negative points are subtracted.")
    )


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
        help_text=_("Leave empty for no limit."),
    )


class ResetForm(forms.Form):
    sure = forms.BooleanField(label=_("Yes, replace the scores of the running season"))


class SubmitForm(forms.Form):
    """A player's own score. An unlikely one must be confirmed: `confirmed` holds that score."""

    confirmed = forms.CharField(required=False, widget=forms.HiddenInput)
    question = ""

    def __init__(self, *args: Any, board: Board) -> None:
        super().__init__(*args)
        self.fields["score"] = ScoreField(board)

    @property
    def is_confirmed(self) -> bool:
        return bool(self.cleaned_data["confirmed"] == repr(self.cleaned_data["score"]))

    def ask(self, question: str) -> None:
        """Show the form again with a question. Submitting the same score confirms it."""
        self.question = question
        self.data = {**dict(self.data.items()), "confirmed": repr(self.cleaned_data["score"])}


class TogetherForm(forms.Form):
    """Which seasons of a board and which other boards to combine."""

    HOW = (("sum", _("The sum of the scores")), ("best", _("The best score")))
    season = forms.MultipleChoiceField(
        label=_("Seasons"), required=False, widget=forms.CheckboxSelectMultiple
    )
    board = forms.MultipleChoiceField(
        label=_("Other boards"), required=False, widget=forms.CheckboxSelectMultiple
    )
    how = forms.ChoiceField(label=_("Count"), choices=HOW, widget=forms.RadioSelect)

    def __init__(self, data: Any, *, seasons: Sequence[Season], others: Sequence[Board]) -> None:
        super().__init__(data)
        fields: dict[str, Any] = self.fields
        fields["season"].choices = [(f"{one.number}", one.title) for one in seasons]
        fields["board"].choices = [(one.slug, one.name) for one in others]
        if not others:
            self.fields["board"].widget = forms.MultipleHiddenInput()

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        count = len(values.get("season", [])) + len(values.get("board", []))
        if not self.errors and not 1 <= count <= MOST_SOURCES:
            text = _("Choose 1 to %(most)s seasons and boards.")
            raise ValidationError(text, code="count", params={"most": MOST_SOURCES})
        return values

    def refuse_size(self) -> None:
        self.add_error(None, _("These have too many players to combine; choose fewer."))


class ProfileForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Player
        fields = ["display_name", "country", "team", "avatar", "bio", "privacy"]
        widgets = {"bio": forms.Textarea(attrs={"rows": 3}), "privacy": forms.RadioSelect}

    def clean_country(self) -> str:
        country: str = self.cleaned_data["country"]
        return country.upper()

    def clean_display_name(self) -> str:
        """An empty name becomes the account's, because boards would show the id."""
        account = self.instance.account
        name: str = self.cleaned_data["display_name"]
        return name or (account.get_username()[:60] if account else "")

    def changes(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in PROFILE_FIELDS}
