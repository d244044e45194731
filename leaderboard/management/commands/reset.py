"""`manage.py reset`: empty boards."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from leaderboard.access import audit
from leaderboard.boards.changing import reset_board
from leaderboard.management.arguments import LeaderboardCommand, board_named
from leaderboard.models import Board


class Command(LeaderboardCommand):
    help = (
        "Empty a board, or every board: its scores, its history and its past seasons. The board "
        "itself and its rules stay."
    )
    examples = (
        "  manage.py reset summer-cup                  everything, asks first\n"
        "  manage.py reset summer-cup --season         only the running season\n"
        "  manage.py reset --keep-archive --yes        every board, past seasons stay\n"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("board", nargs="?", help="the board's slug; without it, every board")
        parser.add_argument(
            "--season",
            action="store_true",
            help="only the running season; past seasons and their log stay",
        )
        parser.add_argument(
            "--keep-archive", action="store_true", help="final standings of past seasons stay"
        )
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["season"] and options["keep_archive"]:
            raise CommandError("--season always keeps the archive; omit --keep-archive.")
        if options["board"]:
            boards = [board_named(options["board"])]
        else:
            boards = list(Board.objects.order_by("slug"))
        if not boards:
            self.stdout.write("There is no board to reset.")
            return
        what = "the running season" if options["season"] else "all scores and the history"
        if options["keep_archive"]:
            what = "all scores and the log (past seasons stay)"
        names = ", ".join(board.slug for board in boards)
        self.confirm(f"Delete {what} of {names}?", yes=options["yes"])
        for board in boards:
            reset_board(
                board=board,
                actor=audit.COMMAND,
                season_only=options["season"],
                keep_archive=options["keep_archive"],
            )
            self.stdout.write(f"{board.slug} is empty.")
