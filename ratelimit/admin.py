"""The admin: overrides of policies, and a page for one caller."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ratelimit import policies, selectors, services, sync
from ratelimit.forms import CallerForm, PolicyOverrideForm
from ratelimit.models import PolicyOverride


@admin.register(PolicyOverride)
class PolicyOverrideAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = PolicyOverrideForm
    list_display = ["policy", "sentence", "active", "settings_say", "changed_at", "note"]
    list_filter = ["active"]
    search_fields = ["policy", "note"]
    change_list_template = "admin/ratelimit/policyoverride/change_list.html"

    @admin.display(description=gettext_lazy("in the settings"))
    def settings_say(self, override: PolicyOverride) -> str:
        try:
            return str(policies.configured(override.policy))
        except policies.UnknownPolicyError:
            return _("no longer in the settings")

    def get_urls(self) -> list[URLPattern]:
        callers = path(
            "callers/",
            self.admin_site.admin_view(self.callers_view),
            name="ratelimit_policyoverride_callers",
        )
        return [callers, *super().get_urls()]

    def callers_view(self, request: HttpRequest) -> HttpResponse:
        """Peek at, reset, block and unblock one caller; the lists help to find it."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        form = CallerForm(request.POST or None)
        found: dict[str, Any] = {}
        if request.method == "POST" and form.is_valid():
            policy, caller = form.cleaned_data["policy"], form.cleaned_data["name"]
            self._act(request, policy, caller, form.cleaned_data["hours"])
            decision = selectors.peek(policy, caller)
            pairs = zip(decision.policy.limits, decision.limit_states, strict=True)
            found = {
                "shown_caller": f"{policy}: {caller}",
                "limit_states": list(pairs),
                "blocked_until": selectors.blocked_until(policy, caller),
            }
        context = {
            **self.admin_site.each_context(request),
            "title": _("Policies and callers"),
            "opts": self.opts,
            "form": form,
            "may_change": self.has_change_permission(request),
            "summary": selectors.summary(),
            **found,
        }
        return TemplateResponse(request, "admin/ratelimit/policyoverride/callers.html", context)

    def _act(self, request: HttpRequest, policy: str, caller: str, hours: float | None) -> None:
        verb = request.POST.get("verb", "peek")
        if verb == "peek":
            return
        if not self.has_change_permission(request):
            raise PermissionDenied
        actor = request.user.get_username()
        if verb == "reset":
            services.reset_caller(policy=policy, caller=caller, actor=actor)
            messages.success(request, _("The counters were reset."))
        elif verb == "block":
            seconds = round((hours or 1) * 3600)
            services.block_caller(policy=policy, caller=caller, seconds=seconds, actor=actor)
            until = selectors.blocked_until(policy, caller)
            shown = {"time": formats.localize(until)}
            messages.success(request, _("Blocked until %(time)s.") % shown)
        elif verb == "unblock":
            if services.unblock_caller(policy=policy, caller=caller, actor=actor):
                messages.success(request, _("The block was lifted."))
            else:
                messages.warning(request, _("This caller was not blocked."))

    # A change is in force in this process at once, in the others within seconds.

    def save_model(
        self, request: HttpRequest, obj: PolicyOverride, form: Any, change: bool
    ) -> None:
        super().save_model(request, obj, form, change)
        sync.read_overrides()

    def delete_model(self, request: HttpRequest, obj: PolicyOverride) -> None:
        super().delete_model(request, obj)
        sync.read_overrides()

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        super().delete_queryset(request, queryset)
        sync.read_overrides()
