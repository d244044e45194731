"""Scores from a file."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from django.core.management.base import CommandError, CommandParser
from msgspec.structs import replace

from config.redis import get_redis
from leaderboard import exchange, keys, pointer
from leaderboard.engine import Submission
from leaderboard.exchange import BadLineError, Line
from leaderboard.management.arguments import LeaderboardCommand, board_named
from leaderboard.management.progress import progress
from leaderboard.models import Board, ScoreEvent
from leaderboard.services import submit_scores

BATCH = 1000
SHOWN = 20
LOOKED_UP = 200  # lines at once in the log
RESUME_WITHIN = 7 * 24 * 3600


class Command(LeaderboardCommand):
    help = (
        "Submit scores from a CSV, JSON or NDJSON file with player_id and score, and perhaps "
        "operator, subscore, name, country, team, avatar and details. The whole file is read and "
        "checked first. Run again after an interruption, it goes on where it stopped."
    )
    examples = (
        "  manage.py import_scores summer-cup scores.csv --dry-run\n"
        "  manage.py import_scores summer-cup scores.ndjson\n"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("board", help="the board's slug")
        parser.add_argument("file", help="the file; its ending tells the format")
        parser.add_argument("--format", choices=exchange.FORMATS, help="if the ending does not")
        parser.add_argument("--dry-run", action="store_true", help="check the file, submit nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        board = board_named(options["board"])
        path = Path(options["file"])
        form = options["format"] or path.suffix.lstrip(".").lower()
        if form not in exchange.FORMATS:
            raise CommandError(f"{path.name}: add --format csv, json or ndjson.")
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
            total = self.check_file(board, path, form)
            if options["dry_run"]:
                self.stdout.write(f"{path.name} is good: {total:,} scores. Nothing was submitted.")
                return
            self.submit(board, path, form, digest, total)
        except OSError as error:
            raise CommandError(f"Cannot read {path}: {error.strerror}.") from error

    def lines(self, board: Board, path: Path, form: str) -> Iterator[Line | BadLineError]:
        # Bytes that are no UTF-8 pass as what no text may hold, so that their line is named.
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            yield from exchange.read_lines(file, form, board)

    def check_file(self, board: Board, path: Path, form: str) -> int:
        total, bad = 0, []
        for line in self.lines(board, path, form):
            total += 1
            if isinstance(line, BadLineError):
                bad.append(str(line))
        if bad:
            shown = "\n".join(bad[:SHOWN])
            more = f"\n… and {len(bad) - SHOWN:,} more" if len(bad) > SHOWN else ""
            raise CommandError(f"{path.name} has mistakes, nothing was submitted:\n{shown}{more}")
        return total

    def submit(self, board: Board, path: Path, form: str, digest: str, total: int) -> None:
        client, key = get_redis(), keys.import_progress(board.key, digest)
        found = client.get(key)
        mark = Mark.read(found)
        if mark.done >= total and mark.season == running(board):
            self.stdout.write(f"{path.name} is on {board.slug} already; nothing to do.")
            return
        if mark.done >= total:
            mark = Mark()  # on the board of another season
        if mark.done:
            self.stdout.write(f"Going on after {mark.done:,} of {total:,} scores.")
        # Before the first score, so that a batch is known by its name, whatever happens to us.
        client.set(key, str(mark), ex=RESUME_WITHIN)
        lines = islice(self.lines(board, path, form), mark.done, None)
        refused: list[str] = []
        with progress(f"Submitting to {board.slug}") as report:
            looked = found is None
            while batch := [line for line in islice(lines, BATCH) if isinstance(line, Line)]:
                # The key makes a batch that was submitted but not marked count once.
                rows = [
                    replace(
                        line.submission,
                        idempotency_key=f"import:{mark.run}:{line.number}",
                        source="import",
                    )
                    for line in batch
                ]
                left = list(zip(batch, rows, strict=True))
                if not looked:
                    known = already_logged(board, rows)
                    left = [(line, row) for line, row in left if row.idempotency_key not in known]
                    looked = True
                results = submit_scores(board=board, rows=[row for _, row in left])
                refused += [
                    f"line {line.number}: {result}"
                    for (line, _), result in zip(left, results, strict=True)
                    if isinstance(result, Exception)
                ]
                mark = replace(mark, done=mark.done + len(batch), season=running(board))
                client.set(key, str(mark), ex=RESUME_WITHIN)
                report(mark.done, total)
        for line in refused[:SHOWN]:
            self.stderr.write(line)
        self.stdout.write(f"{total - len(refused):,} of {total:,} scores are on {board.slug}.")
        if refused:
            raise CommandError(f"{len(refused):,} lines were refused.")


class Mark(msgspec.Struct, frozen=True):
    """How far a file is submitted. The run is part of each line's key: after a reset, or in another
    season, the same file is another run and counts again."""

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
    at = pointer.current(board)
    return at.number if at else 0


def already_logged(board: Board, rows: list[Submission]) -> set[str | None]:
    """Which of these the score log has. Redis remembers a key for a day; an import may go on after
    a week."""
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
