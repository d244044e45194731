"""Forms of the account pages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import (
    AdminUserCreationForm,
    BaseUserCreationForm,
    UserChangeForm,
    UsernameField,
)
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from sessions_app import names
from sessions_app.models import NameLook


class CheckedNameMixin:
    """Refuses a new name that looks like another account's."""

    def clean_username(self) -> str:
        username: str = self.cleaned_data["username"]  # type: ignore[attr-defined]
        if "username" not in self.changed_data:  # type: ignore[attr-defined]
            return username
        account = self.instance.pk  # type: ignore[attr-defined]
        # Ann and ann would be taken for each other on a board.
        if get_user_model().objects.filter(username__iexact=username).exclude(pk=account).exists():
            raise ValidationError(_("This name is taken."))
        if names.mixes_alphabets(username):
            raise ValidationError(
                _("This name mixes letters of several alphabets. Use one alphabet.")
            )
        looks = NameLook.objects.filter(look__in=names.looks_of(username))
        if looks.exclude(user=account).exists():
            raise ValidationError(_("This name looks like one that is taken. Choose another."))
        return username


class StaffNewUserForm(CheckedNameMixin, AdminUserCreationForm):  # type: ignore[type-arg]
    """Staff make an account."""


class StaffUserForm(CheckedNameMixin, UserChangeForm):  # type: ignore[type-arg]
    """Staff change one."""


class SignUpForm(CheckedNameMixin, BaseUserCreationForm):  # type: ignore[type-arg]
    """A name, a password, and optionally an address for a forgotten password.

    The name is public on every board, so "taken" reveals nothing. An address may belong to several
    accounts: refusing a known one would reveal who has an account.
    """

    email = forms.EmailField(
        label=_("Email"),
        required=False,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
        help_text=_("Used only if you forget your password."),
    )

    class Meta:
        model = get_user_model()
        fields = ("username", "email")
        field_classes = {"username": UsernameField}
        help_texts = {"username": _("Letters, digits and @ . + - _ only. Others can see it.")}

    def validate_password_for_user(self, user: Any, *_names: str) -> None:
        """Show errors of the password under it, not under its repetition."""
        super().validate_password_for_user(user, "password1")  # type: ignore[misc]  # unknown to stubs

    def full_clean(self) -> None:
        """Focus the first field with an error."""
        super().full_clean()
        wrong = [name for name in self.fields if name in self.errors]
        if wrong:
            self.fields["username"].widget.attrs.pop("autofocus", None)
            self.fields[wrong[0]].widget.attrs["autofocus"] = True


class AccountForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new address needs the password: nobody takes over an account from an unlocked laptop."""

    current_password = forms.CharField(
        label=_("Your password"),
        strip=False,
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        help_text=_("Needed to change the email address."),
    )

    class Meta:
        model = get_user_model()
        fields = ("first_name", "last_name", "email")

    def clean(self) -> dict[str, Any] | None:
        data = super().clean()
        if "email" in self.changed_data and not self.instance.check_password(
            self.cleaned_data.get("current_password") or ""
        ):
            self.add_error("current_password", _("That is not your password."))
        return data
