from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class RatelimitConfig(AppConfig):
    name = "ratelimit"
    verbose_name = _("Rate limits")

    def ready(self) -> None:
        from ratelimit import policies

        policies.configure()
