"""Accounts and devices."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME, login
from django.contrib.auth import views as auth_views
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe
from django.views.generic import CreateView, UpdateView

from ratelimit.decorators import limit
from sessions_app import background, devices, presence, visitors
from sessions_app.backend import SessionStore
from sessions_app.forms import AccountForm, SignUpForm


@limit("login_address", methods=["POST"])
@limit("login_account", methods=["POST"])
@limit("login", methods=["POST"])
class LoginView(auth_views.LoginView):
    template_name = "accounts/login.html"
    redirect_authenticated_user = True


class LogoutView(auth_views.LogoutView):
    """Only by POST with a token, so that an image on another page signs nobody out."""

    template_name = "accounts/logged_out.html"


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
# The device is charged first: a refused robot uses nothing of the limit of its address.
@limit("signup", methods=["POST"])
@limit("signup_address", methods=["POST"])
class SignUpView(auth_views.RedirectURLMixin, CreateView):  # type: ignore[type-arg]
    form_class = SignUpForm
    template_name = "accounts/signup.html"
    next_page = "home"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.user.is_authenticated:
            return HttpResponseRedirect(self.get_success_url())
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        user = form.save()
        login(self.request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
        messages.success(self.request, _("Welcome, %(name)s.") % {"name": user.get_username()})
        return HttpResponseRedirect(self.get_success_url())

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        visitors.visitor_id(self.request)  # the limit knows this browser by its cookie
        return super().get_context_data(next=self.get_redirect_url(), **kwargs)


@method_decorator(never_cache, name="dispatch")
@limit("login_address", methods=["POST"])
@limit("password_check", methods=["POST"])
class PasswordChangeView(auth_views.PasswordChangeView):
    template_name = "accounts/password_change.html"
    success_url = reverse_lazy("devices")

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        messages.success(
            self.request, _("Your password was changed. All other devices were signed out.")
        )
        return response


@limit("password_reset_address", methods=["POST"])
@limit("password_reset_account", methods=["POST"])
@limit("password_reset", methods=["POST"])
class PasswordResetView(auth_views.PasswordResetView):
    """The answer and its time are the same whether the address is known or not."""

    template_name = "accounts/password_reset.html"
    email_template_name = "accounts/password_reset_email.txt"
    subject_template_name = "accounts/password_reset_subject.txt"
    success_url = reverse_lazy("password_reset_done")

    def form_valid(self, form: Any) -> HttpResponse:
        site = urlsplit(settings.SITE_URL)
        background.run(
            lambda: form.save(
                domain_override=site.netloc,
                use_https=site.scheme == "https",
                token_generator=default_token_generator,
                subject_template_name=self.subject_template_name,
                email_template_name=self.email_template_name,
                extra_email_context={"site_name": "Rostrum"},
            )
        )
        return HttpResponseRedirect(str(self.success_url))


class PasswordResetDoneView(auth_views.PasswordResetDoneView):
    template_name = "accounts/password_reset_done.html"


class PasswordResetConfirmView(auth_views.PasswordResetConfirmView):
    template_name = "accounts/password_reset_confirm.html"
    success_url = reverse_lazy("login")

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        messages.success(self.request, _("Your password was changed. Sign in with the new one."))
        return response


@method_decorator([sensitive_post_parameters(), never_cache, login_required], name="dispatch")
@limit("login_address", methods=["POST"])
@limit("password_check", when=lambda request: bool(request.POST.get("current_password")))
class AccountView(UpdateView):  # type: ignore[type-arg]
    form_class = AccountForm
    template_name = "accounts/account.html"
    success_url = reverse_lazy("account")

    def get_object(self, queryset: Any = None) -> User:
        # A separate copy: values of a refused form must not show in the page's header.
        return User.objects.get(pk=str(self.request.user.pk))

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, _("Saved."))
        return super().form_valid(form)


@require_safe
def admin_login(request: HttpRequest) -> HttpResponse:
    """The admin has no sign-in of its own: one sign-in, with one limit."""
    if request.user.is_authenticated:
        raise PermissionDenied
    target = request.GET.get(REDIRECT_FIELD_NAME) or "/admin/"
    return redirect_to_login(target)


@never_cache
@login_required
@require_safe
def device_list(request: HttpRequest) -> HttpResponse:
    session = cast("SessionStore", request.session)
    found = devices.list_devices(request.user.pk, current=session.digest)
    return render(request, "accounts/devices.html", {"devices": found})


@login_required
@require_POST
def sign_out_device(request: HttpRequest) -> HttpResponse:
    """Sign out one (`device`), all others (`scope=others`) or all (`scope=all`)."""
    session = cast("SessionStore", request.session)
    scope = request.POST.get("scope", "")
    if scope == "all":
        devices.sign_out_all(request.user.pk, keep=session.digest)
        session.flush()
        messages.success(request, _("You are signed out everywhere."))
        return redirect("login")
    if scope == "others":
        count = devices.sign_out_all(request.user.pk, keep=session.digest)
        text = ngettext(
            "%(count)d other device was signed out.",
            "%(count)d other devices were signed out.",
            count,
        )
        messages.success(request, text % {"count": count})
        return redirect("devices")
    digest = request.POST.get("device", "")
    if digest == session.digest:
        session.flush()
        messages.success(request, _("You are signed out."))
        return redirect("login")
    if not devices.sign_out(request.user.pk, digest):
        raise Http404
    messages.success(request, _("The device was signed out."))
    return redirect("devices")


# Without a CSRF token, which pages would need for this alone; browsers send the origin of a
# request, and a forged one could only show somebody as online.
@csrf_exempt
@require_POST
def presence_beacon(request: HttpRequest) -> HttpResponse:
    """Pages without a stream report here that they are open, or (`leaving`) that they close."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        raise PermissionDenied
    viewer = presence.viewer_of(request)
    if request.POST.get("leaving"):
        presence.leave([viewer])
    else:
        presence.touch([viewer])
    return HttpResponse(status=204)
