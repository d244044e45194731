"""Addresses of accounts and presence."""

from django.urls import path
from django.views.generic import RedirectView

from sessions_app import views
from sessions_app.ops.views import metrics, operations

urlpatterns = [
    path("metrics", metrics, name="metrics"),
    path("admin/login/", views.admin_login),
    path("admin/password_change/", RedirectView.as_view(pattern_name="password_change")),
    path("accounts/", views.AccountView.as_view(), name="account"),
    path("accounts/signup/", views.SignUpView.as_view(), name="signup"),
    path("accounts/login/", views.LoginView.as_view(), name="login"),
    path("accounts/logout/", views.LogoutView.as_view(), name="logout"),
    path("accounts/password/", views.PasswordChangeView.as_view(), name="password_change"),
    path("accounts/reset/", views.PasswordResetView.as_view(), name="password_reset"),
    path("accounts/reset/sent/", views.PasswordResetDoneView.as_view(), name="password_reset_done"),
    path(
        "accounts/reset/<uidb64>/<token>/",
        views.PasswordResetConfirmView.as_view(),
        name="password_reset_confirm",
    ),
    path("accounts/devices/", views.device_list, name="devices"),
    path("accounts/devices/sign-out/", views.sign_out_device, name="sign_out_device"),
    path("ops/", operations, name="ops"),
    path("presence/", views.presence_beacon, name="presence"),
]
