"""`manage.py export`: write standings to a file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from leaderboard.files import standings
from leaderboard.management.arguments import LeaderboardCommand, board_named, positive
from leaderboard.models import Season
from leaderboard.seasons import pointer


class Command(LeaderboardCommand):
    help = "Write a board's standings as CSV, JSON or NDJSON, to the terminal or to a file."
    examples = (
        "  manage.py export summer-cup --format csv > standings.csv\n"
        "  manage.py export summer-cup --season 3 --format json --output season-3.json\n"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("board", help="the board's slug")
        parser.add_argument(
            "--season", type=positive, help="number of a season; without it, the running one"
        )
        parser.add_argument("--format", choices=standings.FORMATS, default="csv")
        parser.add_argument("--output", help="file to write; without it, the terminal")

    def handle(self, *args: Any, **options: Any) -> None:
        board = board_named(options["board"])
        current = pointer.current(board)
        number = options["season"] or (current.number if current else 0)
        if current is not None and current.is_open and number == current.number:
            rows = standings.live_entries(board, number)
        else:
            season = Season.objects.filter(board=board, number=number, state="closed").first()
            if season is None:
                raise CommandError(f"{board.slug} has no season {number} with standings.")
            rows = standings.archived_entries(season)
        pieces = standings.written(rows, options["format"])
        if not options["output"]:
            # Close the cursor if the reader closes the pipe.
            with closing(rows), closing(pieces):
                for piece in pieces:
                    self.stdout.write(piece, ending="")
            return
        path = Path(options["output"])
        partial = path.with_name(path.name + ".part")
        try:
            with partial.open("w", encoding="utf-8", newline="") as file:
                file.writelines(pieces)
            partial.replace(path)  # a file of this name is always complete
        except OSError as error:
            raise CommandError(f"Cannot write {path}: {error.strerror}.") from error
