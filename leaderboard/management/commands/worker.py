"""`manage.py worker`: season clock, archive, score log, sweeping."""

from __future__ import annotations

import os
import signal
from typing import Any

from config.processes import exit_with_parent
from leaderboard.management.arguments import LeaderboardCommand
from leaderboard.worker.duties import Worker


class Command(LeaderboardCommand):
    help = (
        "End and archive seasons, store scores in SQL, bring back lost boards, send notices, lift "
        "expired restrictions. "
        "Several may run at once; they share the work."
    )
    examples = "  manage.py worker          until Ctrl-C or SIGTERM\n"

    def handle(self, *args: Any, **options: Any) -> None:
        worker = Worker()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: worker.stop())
        exit_with_parent()
        if not worker.run():
            # An archive is half way. It starts over when the worker comes back; waiting for it
            # would hold up the one who stops us.
            os._exit(0)
