"""Make a live board again from the score log."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandParser

from leaderboard.management.arguments import LeaderboardCommand, board_named
from leaderboard.management.progress import progress
from leaderboard.services import audit, rebuild_board


class Command(LeaderboardCommand):
    help = (
        "Make a live board again from the score log in SQL: after Redis lost its data, or when a "
        "board looks wrong. Scores go on meanwhile."
    )
    examples = (
        "  manage.py rebuild summer-cup\n"
        "  manage.py rebuild summer-cup --check       only say what differs; exit code 1 if so\n"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("board", help="the board's slug")
        parser.add_argument("--check", action="store_true", help="compare, change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        board = board_named(options["board"])
        with progress(f"Reading the log of {board.slug}") as report:
            result = rebuild_board(
                board=board, actor=audit.COMMAND, check=options["check"], progress=report
            )
        for one in result.differences:
            self.stdout.write(f"{one.player_id}: live {_shown(one.live)}, log {_shown(one.log)}")
        if result.count > len(result.differences):
            self.stdout.write(f"… and {result.count - len(result.differences):,} more")
        if result.swapped:
            self.stdout.write(
                f"{board.slug} is rebuilt: {result.entries:,} players, {result.count:,} differed."
            )
        elif result.count:
            self.stdout.write(f"{result.count:,} of {result.entries:,} players differ.")
            sys.exit(1)
        else:
            self.stdout.write(f"{board.slug} and its log agree: {result.entries:,} players.")


def _shown(standing: Any) -> str:
    if standing is None:
        return "nothing"
    return " ".join(f"{name}={value}" for name, value in standing.items())
