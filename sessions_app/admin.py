"""The admin: feature flags, and where a user is signed in."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sessions_app import devices
from sessions_app.forms import StaffNewUserForm, StaffUserForm
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
admin.site.unregister(Group)

# Staff who can set one of these could give themselves every right.
RIGHTS = frozenset({"is_staff", "is_superuser", "groups", "user_permissions"})


def _is_superuser(request: HttpRequest) -> bool:
    return bool(request.user.is_active and request.user.is_superuser)


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin):
    """For superusers: others could add rights to a group that they are in."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return _is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return _is_superuser(request)


@admin.register(User)
class UserAdmin(DjangoUserAdmin):  # type: ignore[type-arg]
    """Django's, with the user's devices; each sign-out is in the user's history, and is sent as the
    signal `devices_signed_out`. Only superusers see and set rights, and others change only accounts
    that have no more rights than they themselves."""

    form = StaffUserForm
    add_form = StaffNewUserForm
    change_form_template = "admin/user_change_form.html"

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_change_permission(request, obj) and _outranks(request.user, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and _outranks(request.user, obj)

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        """The form has only the fields that are shown, so that a forged one sets no others."""
        return [
            (name, {**options, "fields": self._shown(request, options["fields"])})
            for name, options in super().get_fieldsets(request, obj)
        ]

    def get_list_display(self, request: HttpRequest) -> Any:
        return self._shown(request, super().get_list_display(request))

    def get_list_filter(self, request: HttpRequest) -> Any:
        return self._shown(request, super().get_list_filter(request))

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        is_about_rights = lookup.partition("__")[0] in RIGHTS
        if is_about_rights and not _is_superuser(request):
            return False
        return super().lookup_allowed(lookup, value, request)

    def _shown(self, request: HttpRequest, fields: Any) -> list[Any]:
        return [name for name in fields if name not in RIGHTS or _is_superuser(request)]

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
        text = ngettext("Signed out %(count)d device.", "Signed out %(count)d devices.", count)
        text %= {"count": count}
        if count:
            self.log_change(request, user, text)
            devices_signed_out.send(type(self), actor=request.user, user=user, count=count)
        messages.success(request, text)


def _outranks(actor: Any, user: User | None) -> bool:
    """Whether the account has no right that the actor has not: with a new password the actor could
    sign in to it. A closed account counts with the rights that it would have when open."""
    if user is None or actor.is_superuser:
        return True
    held = Permission.objects.filter(Q(user=user) | Q(group__user=user)).distinct()
    names = held.values_list("content_type__app_label", "codename")
    return not user.is_superuser and actor.has_perms([f"{app}.{name}" for app, name in names])
