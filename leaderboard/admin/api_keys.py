"""API keys: created, shown once, revoked."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from leaderboard.access.audit import Actor, record
from leaderboard.models import ApiKey


class ApiKeyForm(forms.ModelForm):  # type: ignore[type-arg]
    scopes = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=ApiKey.Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[ApiKey.Scope.READ, ApiKey.Scope.SUBMIT],
    )

    class Meta:
        model = ApiKey
        fields = ["name", "scopes", "all_boards", "boards", "rate", "expires_at", "is_service"]

    def clean(self) -> dict[str, Any] | None:
        values = super().clean() or {}
        if not values.get("all_boards") and not values.get("boards"):
            self.add_error("boards", _("Choose the boards, or every board."))
        return values

    def clean_expires_at(self) -> datetime | None:
        """A key that has expired can be saved if its time is not changed."""
        moment: datetime | None = self.cleaned_data["expires_at"]
        if moment and moment <= timezone.now() and "expires_at" in self.changed_data:
            raise forms.ValidationError(_("Choose a time in the future."), code="past")
        return moment


@admin.register(ApiKey)
class ApiKeyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = ApiKeyForm
    list_display = ["name", "hint", "may", "state", "last_used_at", "created_at"]
    list_filter = ["is_service", "all_boards", "boards"]
    list_select_related = ["created_by"]
    search_fields = ["name", "hint"]
    filter_horizontal = ["boards"]
    actions = ["revoke"]

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> list[str]:
        """A new key has no values for these."""
        return ["hint", "state", "last_used_at", "created_at", "created_by"] if obj else []

    @admin.display(description=_("permissions"))
    def may(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description=_("state"))
    def state(self, key: ApiKey) -> str:
        if key.revoked_at is not None:
            return str(_("revoked"))
        if key.expires_at is not None and key.expires_at <= timezone.now():
            return str(_("expired"))
        if not key.has_maker:
            return str(_("stopped: its creator's account is closed"))
        return str(_("valid"))

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        if not change:
            obj.created_by = request.user  # type: ignore[assignment]  # staff are signed in
            request._new_api_key = obj.renew()  # type: ignore[attr-defined]
        super().save_model(request, obj, form, change)
        _audit(request, "change_api_key" if change else "create_api_key", obj)

    def response_add(
        self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Show the key in this response. A message would be stored in the session."""
        context = {
            **self.admin_site.each_context(request),
            "title": _("The new key"),
            "opts": self.opts,
            "key": obj,
            "token": request._new_api_key,  # type: ignore[attr-defined]
        }
        return TemplateResponse(request, "admin/leaderboard/apikey/shown_once.html", context)

    @admin.action(description=_("Revoke the selected keys"), permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        chosen = list(queryset.filter(revoked_at__isnull=True))
        for key in chosen:
            key.revoked_at = timezone.now()
            key.save(update_fields=["revoked_at"])
            _audit(request, "revoke_api_key", key)
        text = ngettext(
            "%(count)d key was revoked and stops working within 5 seconds.",
            "%(count)d keys were revoked and stop working within 5 seconds.",
            len(chosen),
        )
        self.message_user(request, text % {"count": len(chosen)}, messages.SUCCESS)


def _audit(request: HttpRequest, action: str, key: ApiKey) -> None:
    record(action, actor=Actor.of(request.user), **key.described())
