"""`manage.py season`: list, open and close seasons."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.dateparse import parse_datetime

from leaderboard.access import audit
from leaderboard.closing.seasons import close_season, closing_sentence, open_season
from leaderboard.management.arguments import LeaderboardCommand, board_named
from leaderboard.management.progress import progress
from leaderboard.models import Board, Season


class Command(LeaderboardCommand):
    help = "List, open or close seasons."
    examples = (
        "  manage.py season list\n"
        "  manage.py season list summer-cup\n"
        "  manage.py season close summer-cup              with a schedule, the next begins\n"
        "  manage.py season close summer-cup --open-next  the next one always begins\n"
        "  manage.py season close summer-cup --final      no season follows; asks first\n"
        '  manage.py season open summer-cup --name "Finals" --closes "2027-01-31 18:00"\n'
        "Times are in the board's own zone.\n"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="list|open|close")
        listing = actions.add_parser("list", help="all seasons of a board, or of every board")
        listing.add_argument("board", nargs="?")
        opening = actions.add_parser("open", help="open the next season, now or later")
        opening.add_argument("board")
        opening.add_argument("--name", default="", help="such as Finals")
        opening.add_argument("--opens", help="YYYY-MM-DD HH:MM; without it, now")
        opening.add_argument("--closes", help="YYYY-MM-DD HH:MM; without it, by hand or schedule")
        closing = actions.add_parser("close", help="end the running season and archive it")
        closing.add_argument("board")
        after = closing.add_mutually_exclusive_group()
        after.add_argument(
            "--open-next", action="store_true", help="start the next season at the same moment"
        )
        after.add_argument(
            "--final",
            action="store_true",
            help="end the contest: no season follows, even if the board has a schedule",
        )
        closing.add_argument("--yes", action="store_true", help="do not ask, with --final")

    def handle(self, *args: Any, **options: Any) -> None:
        match options["action"]:
            case "list":
                self.list_seasons(options["board"])
            case "open":
                self.open(board_named(options["board"]), options)
            case _:
                self.close(board_named(options["board"]), options)

    def list_seasons(self, slug: str | None) -> None:
        seasons = Season.objects.select_related("board").order_by("board__slug", "number")
        if slug:
            seasons = seasons.filter(board=board_named(slug))
        for season in seasons:
            zone = season.board.zone
            end = season.closed_at or season.closes
            self.stdout.write(
                f"{season.board.slug}  {season.number:>4}  {season.state:<8} "
                f"{season.opens.astimezone(zone):%Y-%m-%d %H:%M} to "
                f"{f'{end.astimezone(zone):%Y-%m-%d %H:%M}' if end else 'by hand':<16}  "
                f"{season.entries or '':>9}  {season.title}"
            )

    def open(self, board: Board, options: dict[str, Any]) -> None:
        season = open_season(
            board=board,
            actor=audit.COMMAND,
            name=options["name"],
            opens=_time(board, "--opens", options["opens"]),
            closes=_time(board, "--closes", options["closes"]),
        )
        verb = "is planned" if season.state == Season.State.PLANNED else "is open"
        self.stdout.write(f"{board.slug}: season {season.number}, {season.title}, {verb}.")

    def close(self, board: Board, options: dict[str, Any]) -> None:
        open_next = True if options["open_next"] else None
        if options["final"]:
            self.confirm(
                f"End {board.slug} for good? Its season is closed and none follows.",
                yes=options["yes"],
            )
            open_next = False
        with progress(f"Archiving {board.slug}") as report:
            season = close_season(
                board=board, actor=audit.COMMAND, open_next=open_next, progress=report
            )
        self.stdout.write(closing_sentence(season))


def _time(board: Board, option: str, text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None:
        raise CommandError(f"{option} {text!r} is not a time: expected YYYY-MM-DD HH:MM.")
    return moment if moment.tzinfo else moment.replace(tzinfo=board.zone)
