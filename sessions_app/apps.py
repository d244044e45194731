from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SessionsConfig(AppConfig):
    name = "sessions_app"
    verbose_name = _("Sessions and audience")

    def ready(self) -> None:
        from sessions_app import (
            ops,
            signals,  # noqa: F401 connects the receivers
        )
        from sessions_app.ops.audience import audience
        from sessions_app.ops.limits import limits
        from sessions_app.ops.server import redis_servers

        ops.register(redis_servers, audience, limits)
