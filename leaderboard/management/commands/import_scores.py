"""`manage.py import_scores`: submit scores from a file."""

from __future__ import annotations

import hashlib
import secrets
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from django.core.management.base import CommandError, CommandParser
from msgspec.structs import replace

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.boards.enrolment import enrol
from leaderboard.boards.scores import submit_scores
from leaderboard.engine import Submission
from leaderboard.files import scores as score_files
from leaderboard.files import standings
from leaderboard.files.scores import BadLineError, Line, PersonLine
from leaderboard.management.arguments import LeaderboardCommand, board_named
from leaderboard.management.progress import progress
from leaderboard.models import Board, ScoreEvent
from leaderboard.seasons import pointer

BATCH = 1000
SHOWN = 20
LOOKED_UP = 200  # lines per query of the log
RESUME_WITHIN = 7 * 24 * 3600


class Command(LeaderboardCommand):
    help = (
        "Submit scores from a CSV, JSON or NDJSON file. Each line has a player or a name, a score, "
        "and optionally operator, subscore, name, country, team, avatar and details. Without a "
        "player, the name is the player's id. A line without a score adds the person as a player. "
        "CSV may use commas, semicolons or tabs. The whole file is checked first. Run the command "
        "again after an interruption to resume."
    )
    examples = (
        "  manage.py import_scores summer-cup scores.csv --dry-run\n"
        "  manage.py import_scores summer-cup scores.ndjson\n"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("board", help="the board's slug")
        parser.add_argument("file", help="a file that ends in .csv, .tsv, .json or .ndjson")
        parser.add_argument("--format", choices=standings.FORMATS, help="for any other ending")
        parser.add_argument("--dry-run", action="store_true", help="check the file, submit nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        board = board_named(options["board"])
        path = Path(options["file"])
        form = options["format"] or score_files.format_of(path)
        if form is None:
            raise CommandError(f"{path.name}: add --format csv, json or ndjson.")
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
            counts = self.check_file(board, path, form)
            if options["dry_run"]:
                self.stdout.write(f"{path.name} is valid: {counts}. Nothing was submitted.")
                return
            self.submit(board, path, form, digest, counts)
        except OSError as error:
            raise CommandError(f"Cannot read {path}: {error.strerror}.") from error

    def check_file(self, board: Board, path: Path, form: str) -> Counts:
        scores, people, bad = 0, 0, []
        for line in score_files.read_file(path, form, board):
            if isinstance(line, BadLineError):
                bad.append(str(line))
            elif isinstance(line, Line):
                scores += 1
            else:
                people += 1
        if bad:
            shown = "\n".join(bad[:SHOWN])
            more = f"\n… and {len(bad) - SHOWN:,} more" if len(bad) > SHOWN else ""
            raise CommandError(f"{path.name} has errors, nothing was submitted:\n{shown}{more}")
        if not scores + people:
            raise CommandError(f"{path.name} has no lines to import.")
        return Counts(scores, people)

    def submit(self, board: Board, path: Path, form: str, digest: str, counts: Counts) -> None:
        total = counts.scores + counts.people
        client, key = get_redis(), keys.import_progress(board.key, digest)
        found = client.get(key)
        mark = Mark.read(found)
        if mark.done >= total and mark.season == running(board):
            self.stdout.write(f"{path.name} is already on {board.slug}; nothing to do.")
            return
        if mark.done >= total:
            mark = Mark()  # it was imported into another season
        if mark.done:
            self.stdout.write(f"Resuming after {mark.done:,} of {total:,} lines.")
        # Before the first score, so that the keys of a batch are known if this process dies.
        client.set(key, str(mark), ex=RESUME_WITHIN)
        lines = islice(score_files.read_file(path, form, board), mark.done, None)
        refused: list[str] = []
        with progress(f"Submitting to {board.slug}") as report:
            looked = found is None
            while part := list(islice(lines, BATCH)):
                enrol(players=[line.player for line in part if isinstance(line, PersonLine)])
                # The key makes a batch that was submitted but not marked count once.
                rows = {
                    line.number: replace(
                        line.submission,
                        idempotency_key=f"import:{mark.run}:{line.number}",
                        source="import",
                    )
                    for line in part
                    if isinstance(line, Line)
                }
                if not looked:
                    known = already_logged(board, list(rows.values()))
                    rows = {n: row for n, row in rows.items() if row.idempotency_key not in known}
                    looked = True
                # Lines without scores need no running season.
                results = submit_scores(board=board, rows=list(rows.values())) if rows else []
                refused += [
                    f"line {number}: {result}"
                    for number, result in zip(rows, results, strict=True)
                    if isinstance(result, Exception)
                ]
                mark = replace(mark, done=mark.done + len(part), season=running(board))
                client.set(key, str(mark), ex=RESUME_WITHIN)
                report(mark.done, total)
        for line in refused[:SHOWN]:
            self.stderr.write(line)
        if counts.scores:
            accepted = counts.scores - len(refused)
            self.stdout.write(f"{accepted:,} of {counts.scores:,} scores are on {board.slug}.")
        if counts.people:
            self.stdout.write(f"Players without a score yet: {counts.people:,}.")
        if refused:
            raise CommandError(f"{len(refused):,} lines were refused.")


class Counts(msgspec.Struct, frozen=True):
    """The lines of a file."""

    scores: int
    people: int

    def __str__(self) -> str:
        return f"{self.scores:,} with a score, {self.people:,} without"


class Mark(msgspec.Struct, frozen=True):
    """How many lines of a file are submitted. The run is part of each line's idempotency key: after
    a reset, or in another season, the same file is another run and counts again."""

    done: int = 0
    season: int = 0
    run: str = msgspec.field(default_factory=lambda: secrets.token_hex(8))

    @classmethod
    def read(cls, value: bytes | None) -> Mark:
        if value is None:
            return cls()
        done, season, run = value.decode().split()
        return cls(int(done), int(season), run)

    def __str__(self) -> str:
        return f"{self.done} {self.season} {self.run}"


def running(board: Board) -> int:
    current = pointer.current(board)
    return current.number if current else 0


def already_logged(board: Board, rows: list[Submission]) -> set[str | None]:
    """The idempotency keys of these rows that the score log has. Redis keeps a key for a day, but
    an import can be resumed for a week."""
    logged: set[str | None] = set()
    for start in range(0, len(rows), LOOKED_UP):
        portion = rows[start : start + LOOKED_UP]
        found = ScoreEvent.objects.filter(
            board=board,
            player_id__in={row.user_id for row in portion},
            idempotency_key__in=[row.idempotency_key for row in portion],
        )
        logged |= set(found.values_list("idempotency_key", flat=True))
    return logged
