"""Every address of Rostrum starts here."""

from django.contrib import admin
from django.urls import include, path

from config import look, views
from leaderboard.api.app import api
from leaderboard.api.published import openapi_document

urlpatterns = [
    # Before the admin, whose sign-in it replaces.
    path("", include("sessions_app.urls")),
    path("admin/", admin.site.urls),
    path("favicon.ico", views.favicon, name="favicon"),
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    # Before the API, which would write its document anew for each call.
    path("api/v1/openapi.json", openapi_document, name="openapi"),
    path("api/v1/", api.urls),
    path("look/theme/", look.set_theme, name="theme"),
    path("look/language/", look.set_language, name="language"),
    path("", include("leaderboard.urls")),
]

handler400 = "config.views.bad_request"
handler403 = "config.views.permission_denied"
handler404 = "config.views.not_found"
handler500 = "config.views.server_error"
