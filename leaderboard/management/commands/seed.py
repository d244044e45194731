"""`manage.py seed`: create or remove sample data."""

from __future__ import annotations

import gc
import secrets
from itertools import chain
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import CommandParser

from config import trial
from leaderboard.access import audit
from leaderboard.boards.changing import forget_keys
from leaderboard.management.arguments import LeaderboardCommand, positive
from leaderboard.management.progress import progress
from leaderboard.models import Board, Player
from leaderboard.sample.catalogue import CATALOGUE, SampleBoard, sample_boards
from leaderboard.sample.people import ADMIN, PLAYERS, SEED, people
from leaderboard.sample.removing import remove_samples, sample_boards_here
from leaderboard.sample.seeding import MOST_OTHERS, seed_board
from sessions_app import flags
from sessions_app.models import Flag


class Command(LeaderboardCommand):
    help = (
        "Fill Rostrum with sample boards, players and past seasons. The first board gets all the "
        f"players, the others up to {MOST_OTHERS:,} of them. Boards that exist are left alone."
    )
    examples = (
        "  manage.py seed                            five boards, 200 players\n"
        "  manage.py seed --fresh --seed 7           create the sample boards again, other data\n"
        "  manage.py seed --boards 1 --players 1000000\n"
        "  manage.py seed --remove                   delete the sample boards and players\n"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--boards", type=positive, default=len(CATALOGUE), help="how many (default 5)"
        )
        parser.add_argument(
            "--players", type=positive, default=PLAYERS, help="how many in all (default 200)"
        )
        parser.add_argument(
            "--seed", type=int, default=SEED, help="the same number gives the same data (default 1)"
        )
        removal = parser.add_mutually_exclusive_group()
        removal.add_argument(
            "--fresh",
            action="store_true",
            help="delete all sample boards first, with their history and their players",
        )
        removal.add_argument(
            "--remove",
            action="store_true",
            help="delete all sample boards and players, and create none",
        )
        parser.add_argument("--yes", action="store_true", help="do not ask before deleting")

    def handle(self, *args: Any, **options: Any) -> None:
        self.quiet = options["verbosity"] == 0
        samples = sample_boards(options["boards"])
        if options["fresh"] or options["remove"]:
            self.remove(yes=options["yes"])
        if options["remove"]:
            return
        known = set(Board.objects.values_list("slug", flat=True))
        ours = {board.slug for board in sample_boards_here()}
        for slug in sorted(known & {sample.slug for sample in samples}):
            hint = "--fresh creates it again" if slug in ours else "it is not a sample board"
            self.report(f"{slug} exists and is left as it is ({hint}).")
        samples = [sample for sample in samples if sample.slug not in known]
        # Millions of small objects are created and kept. Looking for garbage among them takes a
        # sixth of the time and finds none.
        gc.disable()
        try:
            self.seed(samples, options["players"], options["seed"])
        finally:
            gc.enable()
        self.make_admin()

    def remove(self, *, yes: bool) -> None:
        if boards := sample_boards_here():
            names = ", ".join(board.slug for board in boards)
            self.confirm(f"Delete {names} with all scores, history and sample players?", yes=yes)
        removed = remove_samples(actor=audit.COMMAND)
        boards_gone = ", ".join(removed.boards) or "no board"
        self.report(f"Removed: {boards_gone}; {removed.players:,} players.")
        if removed.admin:
            self.report(f"The account {trial.ADMIN} was deleted; it still had its first password.")

    def seed(self, samples: list[SampleBoard], players: int, seed: int) -> None:
        everyone = list(chain([ADMIN], people(players, seed)))
        for number, sample in enumerate(samples):
            forget_keys(f"leaderboard:{{{sample.slug}}}")  # in case an earlier seeding failed
            who = everyone if number == 0 else everyone[: MOST_OTHERS + 1]
            with progress(f"Seeding {sample.slug}", quiet=self.quiet) as report:
                done, total = 0, 2 * len(who)

                def step(count: int, report: Any = report, total: int = total) -> None:
                    nonlocal done
                    done = min(total, done + count)
                    report(done, total)

                seed_board(sample, who, seed, step)
            self.report(f"{sample.slug}: {len(who):,} players")

    def make_admin(self) -> None:
        """Create an administrator for a local trial. Production uses createsuperuser."""
        users = get_user_model().objects
        if settings.PRODUCTION:
            return
        if users.filter(is_superuser=True).exists():
            known = users.filter(is_superuser=True, username=trial.ADMIN, player=None).first()
            if known is not None:  # after the sample players were removed
                Player.objects.filter(pk=ADMIN.id, account=None).update(account=known)
            return
        password = secrets.token_urlsafe(9)
        admin = users.create_superuser(trial.ADMIN, password=password)
        Player.objects.filter(pk=ADMIN.id, account__isnull=True).update(account=admin)
        trial.keep_password(password)
        self.report(f"Sign in as admin with the password {password} (on the boards: {ADMIN.name})")
        # A trial shows every feature; elsewhere somebody must switch these on.
        Flag.objects.filter(state=Flag.State.OFF).update(state=Flag.State.ON)
        flags.publish()

    def report(self, line: str) -> None:
        if not self.quiet:
            self.stdout.write(line)
