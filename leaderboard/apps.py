from django.apps import AppConfig


class LeaderboardConfig(AppConfig):
    name = "leaderboard"
    verbose_name = "Leaderboards"

    def ready(self) -> None:
        from leaderboard import signals  # noqa: F401 connects the receivers
        from leaderboard.access import hides_presence
        from leaderboard.ops import boards
        from sessions_app import ops, presence

        ops.register(boards)
        presence.hide_when(hides_presence)
