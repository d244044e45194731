"""Every address of Rostrum starts here."""

from django.contrib import admin
from django.urls import include, path

from config.web import errors, look
from leaderboard.api.app import api
from leaderboard.api.published import openapi_document

urlpatterns = [
    # Before the admin: it replaces the admin's sign-in.
    path("", include("sessions_app.urls")),
    path("admin/", admin.site.urls),
    path("favicon.ico", errors.favicon, name="favicon"),
    path("healthz", errors.healthz, name="healthz"),
    path("readyz", errors.readyz, name="readyz"),
    # Before the API, which would generate its document for each request.
    path("api/v1/openapi.json", openapi_document, name="openapi"),
    path("api/v1/", api.urls),
    path("look/theme/", look.set_theme, name="theme"),
    path("look/language/", look.set_language, name="language"),
    path("", include("leaderboard.pages.urls")),
]

handler400 = "config.web.errors.bad_request"
handler403 = "config.web.errors.permission_denied"
handler404 = "config.web.errors.not_found"
handler500 = "config.web.errors.server_error"
