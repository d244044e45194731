from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LeaderboardConfig(AppConfig):
    name = "leaderboard"
    verbose_name = _("Leaderboards")

    def ready(self) -> None:
        from config import measures
        from leaderboard import signals  # noqa: F401 connects the receivers
        from leaderboard.access import hides_presence
        from leaderboard.consumer import show_lags
        from leaderboard.ops import boards
        from sessions_app import ops, presence

        measures.register(show_lags)
        ops.register(boards)
        ops.register_live(
            ops.LivePart("all_activity", "live_activity", permission="leaderboard.view_board")
        )
        presence.hide_when(hides_presence)
