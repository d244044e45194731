"""Scores from a file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from msgspec.structs import replace

from config.redis import get_redis
from leaderboard import exchange, keys
from leaderboard.exchange import BadLineError, Line
from leaderboard.management.arguments import LeaderboardCommand, board_named
from leaderboard.management.progress import progress
from leaderboard.models import Board
from leaderboard.services import submit_scores

BATCH = 1000
SHOWN = 20
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
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"Cannot read {path}: {error}.") from error

    def lines(self, board: Board, path: Path, form: str) -> Iterator[Line | BadLineError]:
        with path.open(encoding="utf-8-sig", newline="") as file:
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
        client, mark = get_redis(), keys.import_progress(board.key, digest)
        done = int(client.get(mark) or 0)
        if done >= total:
            self.stdout.write(f"{path.name} is on {board.slug} already; nothing to do.")
            return
        if done:
            self.stdout.write(f"Going on after {done:,} of {total:,} scores.")
        lines = islice(self.lines(board, path, form), done, None)
        refused: list[str] = []
        with progress(f"Submitting to {board.slug}") as report:
            while batch := [line for line in islice(lines, BATCH) if isinstance(line, Line)]:
                # The key makes a batch that was submitted but not marked count once.
                rows = [
                    replace(
                        line.submission,
                        idempotency_key=f"import:{digest}:{line.number}",
                        source="import",
                    )
                    for line in batch
                ]
                results = submit_scores(board=board, rows=rows)
                refused += [
                    f"line {line.number}: {result}"
                    for line, result in zip(batch, results, strict=True)
                    if isinstance(result, Exception)
                ]
                done += len(batch)
                client.set(mark, done, ex=RESUME_WITHIN)
                report(done, total)
        for line in refused[:SHOWN]:
            self.stderr.write(line)
        self.stdout.write(f"{total - len(refused):,} of {total:,} scores are on {board.slug}.")
        if refused:
            raise CommandError(f"{len(refused):,} lines were refused.")
