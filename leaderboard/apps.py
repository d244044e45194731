from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LeaderboardConfig(AppConfig):
    name = "leaderboard"
    verbose_name = _("Leaderboards")

    def ready(self) -> None:
        from config.web import measures
        from leaderboard import signals  # noqa: F401 connects the receivers
        from leaderboard.access.rights import hides_presence
        from leaderboard.boards import profiles
        from leaderboard.log import consumer
        from leaderboard.notices import activity, overtaking
        from leaderboard.pages.ops import boards
        from sessions_app import ops, presence

        measures.register(consumer.show_lags)
        consumer.follow(profiles.mask_late)
        consumer.follow(overtaking.notify)
        consumer.follow(activity.note)
        ops.register(boards)
        ops.register_live(
            ops.LivePart("all_activity", "live_activity", permission="leaderboard.view_board")
        )
        presence.hide_when(hides_presence)
