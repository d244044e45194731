"""`manage.py rebuild`: rebuild a live board from the score log."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from leaderboard.access import audit
from leaderboard.boards.changing import rebuild_board
from leaderboard.closing.rearchive import rebuild_season
from leaderboard.errors import WouldLoseError
from leaderboard.log.differences import Report
from leaderboard.management.arguments import LeaderboardCommand, board_named, positive
from leaderboard.management.progress import progress


class Command(LeaderboardCommand):
    help = (
        "Rebuild a live board from the score log in SQL, after Redis lost its data or when a board "
        "looks wrong. Scores continue meanwhile. Or archive a past season again from the log."
    )
    examples = (
        "  manage.py rebuild summer-cup\n"
        "  manage.py rebuild summer-cup --check       only list differences; exit code 1 if any\n"
        "  manage.py rebuild summer-cup --season 3    archive a closed season again\n"
        "  manage.py rebuild summer-cup --allow-loss  even if the log lacks entries of the board\n"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("board", help="the board's slug")
        parser.add_argument("--check", action="store_true", help="compare, change nothing")
        parser.add_argument(
            "--season", type=positive, metavar="N", help="a closed season, by its number"
        )
        parser.add_argument(
            "--allow-loss",
            action="store_true",
            help="rebuild even if entries that are not in the log are lost",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        board = board_named(options["board"])
        name, number = board.slug, options["season"]
        arguments = {
            "board": board,
            "actor": audit.COMMAND,
            "check": options["check"],
            "allow_loss": options["allow_loss"],
        }
        try:
            if number is not None:
                name = f"{board.slug}, season {number},"
                result = rebuild_season(number=number, **arguments)
            else:
                with progress(f"Reading the log of {board.slug}") as report:
                    result = rebuild_board(progress=report, **arguments)
        except WouldLoseError as error:
            raise CommandError(f"{error} Add --allow-loss to rebuild without them.") from error
        self.show(name, result, checked=options["check"])

    def show(self, name: str, result: Report, *, checked: bool) -> None:
        for one in result.differences:
            self.stdout.write(f"{one}: live {_shown(one.live)}, log {_shown(one.log)}")
        if result.count > len(result.differences):
            self.stdout.write(f"… and {result.count - len(result.differences):,} more")
        for warning in result.warnings:
            self.stderr.write(warning)
        if checked and result.lost_count:
            self.stdout.write(f"A rebuild would lose {result.lost_count:,} of them.")
        players = f"{result.entries:,} player" + ("" if result.entries == 1 else "s")
        if result.swapped:
            self.stdout.write(f"{name} was rebuilt: {players}, {result.count:,} differed.")
        elif result.count:
            self.stdout.write(f"{result.count:,} differ; the log has {players}.")
            sys.exit(1)
        else:
            self.stdout.write(f"{name} and its log agree: {players}.")


def _shown(standing: Any) -> str:
    if standing is None:
        return "nothing"
    return " ".join(f"{name}={value}" for name, value in standing.items())
