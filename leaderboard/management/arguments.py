"""Shared by all commands: examples in --help, boards by slug, one clear line for an error."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from config.redis.connections import OUTAGE_ERRORS
from config.redis.locks import LockTakenError
from config.web.outages import SQL_ERRORS
from leaderboard.engine import LeaderboardError
from leaderboard.errors import ServiceError
from leaderboard.models import Board


class LeaderboardCommand(BaseCommand):
    """`examples` is shown below --help."""

    examples = ""

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        if self.examples:
            kwargs |= {
                "epilog": f"examples:\n{self.examples}",
                "formatter_class": argparse.RawDescriptionHelpFormatter,
            }
        return super().create_parser(*args, **kwargs)

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Turn errors that a person can fix into one line; a bug keeps its traceback."""
        try:
            check_tables()
            return super().execute(*args, **options)
        except BrokenPipeError:
            # The reader has closed the pipe, as in `export … | head`. Python would report the rest
            # of the buffer as another error at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except (ServiceError, LeaderboardError, LockTakenError) as error:
            raise CommandError(str(error)) from error
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        except OUTAGE_ERRORS as error:
            raise CommandError(f"Redis does not answer at REDIS_URL ({error}).") from error
        except SQL_ERRORS as error:
            reason = str(error).partition("\n")[0]
            text = f"The database does not answer at DATABASE_URL ({reason})."
            raise CommandError(text) from error

    def confirm(self, question: str, *, yes: bool) -> None:
        """Ask before something is deleted. Without a terminal, `--yes` is required."""
        if yes:
            return
        if not sys.stdin.isatty():
            raise CommandError(f"{question} Add --yes to confirm.")
        self.stderr.write(f"{question} [y/N] ", ending="")
        self.stderr.flush()
        if input().strip().lower() not in {"y", "yes"}:
            raise CommandError("Nothing was changed.")


def check_tables() -> None:
    """Explain how to create the tables if there are none. If the database is down, leave that to
    the command: a worker waits for it."""
    try:
        tables = connection.introspection.table_names()
    except SQL_ERRORS:
        return
    if Board._meta.db_table not in tables:
        raise CommandError(
            "The database has no tables yet. Start Rostrum once with `make run`, or run "
            "`manage.py migrate`."
        )


def board_named(slug: str) -> Board:
    try:
        return Board.objects.at(slug).get()
    except Board.DoesNotExist:
        known = list(Board.objects.order_by("slug").values_list("slug", flat=True)[:20])
        hint = f"Choose from: {', '.join(known)}." if known else "There are no boards yet."
        raise CommandError(f"There is no board {slug!r}. {hint}") from None


def positive(text: str) -> int:
    """An argument that counts something."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return number
