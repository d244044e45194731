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
        "End and archive seasons, store scores in SQL, restore lost boards, send notices, lift "
        "expired restrictions. Several can run at once; they share the work."
    )
    examples = "  manage.py worker          until Ctrl-C or SIGTERM\n"

    def handle(self, *args: Any, **options: Any) -> None:
        worker = Worker()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: worker.stop())
        exit_with_parent()
        if not worker.run():
            # An archive is unfinished. It starts over with the next worker; waiting for it would
            # delay the shutdown.
            os._exit(0)
