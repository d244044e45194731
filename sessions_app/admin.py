"""The admin: feature flags, and where a user is signed in."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sessions_app import devices
from sessions_app.models import Flag
from sessions_app.signals import devices_signed_out


@admin.register(Flag)
class FlagAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["name", "state", "percentage", "description"]
    list_filter = ["state"]
    search_fields = ["name", "description"]
    autocomplete_fields = ["users"]
    fields = ["name", "description", "state", "percentage", "users"]

    def get_readonly_fields(self, request: HttpRequest, obj: Flag | None = None) -> list[str]:
        return ["name"] if obj else []


admin.site.unregister(get_user_model())


@admin.register(User)
class UserAdmin(DjangoUserAdmin):  # type: ignore[type-arg]
    """Django's, with the user's devices; each sign-out stands in the user's history, and whoever
    keeps an audit log hears of it by `devices_signed_out`."""

    change_form_template = "admin/user_change_form.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.devices_view)
        return [path("<id>/devices/", view, name="auth_user_devices"), *super().get_urls()]

    def devices_view(self, request: HttpRequest, id: str) -> HttpResponse:  # noqa: A002 the URL's
        user = self.get_object(request, id)
        if user is None:
            raise Http404
        if not self.has_change_permission(request, user):
            raise PermissionDenied
        if request.method == "POST":
            self._sign_out(request, user)
            return HttpResponseRedirect(reverse("admin:auth_user_devices", args=[user.pk]))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": user,
            "title": _("Devices of %(name)s") % {"name": user.get_username()},
            "devices": devices.list_devices(user.pk),
        }
        return TemplateResponse(request, "admin/user_devices.html", context)

    def _sign_out(self, request: HttpRequest, user: Any) -> None:
        digest = request.POST.get("device", "")
        count = devices.sign_out(user.pk, digest) if digest else devices.sign_out_all(user.pk)
        said = ngettext("Signed out %(count)d device.", "Signed out %(count)d devices.", count)
        said %= {"count": count}
        if count:
            self.log_change(request, user, said)
            devices_signed_out.send(type(self), actor=request.user, user=user, count=count)
        messages.success(request, said)
