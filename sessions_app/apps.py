from django.apps import AppConfig


class SessionsConfig(AppConfig):
    name = "sessions_app"
    verbose_name = "Sessions and audience"

    def ready(self) -> None:
        from sessions_app import signals  # noqa: F401 connects the receivers
