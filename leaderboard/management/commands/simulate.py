"""Gentle live traffic for a demo."""

from __future__ import annotations

import random
import time
from typing import Any

from django.core.management.base import CommandError, CommandParser

from leaderboard.errors import SeasonClosedError
from leaderboard.management.arguments import LeaderboardCommand, board_named, positive
from leaderboard.models import Board
from leaderboard.sample.catalogue import CATALOGUE
from leaderboard.sample.people import people
from leaderboard.services import submit_score

CROWD = 40  # how many of a board's players take part


class Command(LeaderboardCommand):
    help = "Submit scores now and then, so that open boards move. Stop with Ctrl-C."
    examples = (
        "  manage.py simulate                          two scores a second over all demo boards\n"
        "  manage.py simulate --board neon-drift --rate 10\n"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--board", help="the board's slug; without it, every demo board")
        parser.add_argument("--rate", type=float, default=2.0, help="scores a second (default 2)")
        parser.add_argument("--count", type=positive, help="stop after this many scores")
        parser.add_argument("--seed", type=int, help="the same number gives the same scores")

    def handle(self, *args: Any, **options: Any) -> None:
        if not 0 < options["rate"] <= 1000:
            raise CommandError("--rate must be above 0 and at most 1000.")
        if options["board"]:
            boards = [board_named(options["board"])]
        else:
            boards = list(Board.objects.filter(submitters=Board.Submitters.DEMO))
        if not boards:
            raise CommandError("There is no demo board; `manage.py seed` makes some.")
        chance = random.Random(options["seed"])  # noqa: S311
        players = [Players(board, chance) for board in boards]
        sent = 0
        try:
            while options["count"] is None or sent < options["count"]:
                begin = time.monotonic()
                chance.choice(players).submit()
                sent += 1
                # A little uneven, as people are.
                pause = chance.uniform(0.5, 1.5) / options["rate"]
                time.sleep(max(0.0, pause - (time.monotonic() - begin)))
        except KeyboardInterrupt:
            pass
        self.stdout.write(f"{sent:,} scores submitted.")


class Players:
    """Those who play on one board: some who stand there, and a newcomer from time to time."""

    def __init__(self, board: Board, chance: random.Random) -> None:
        self.board, self.chance = board, chance
        entries = board.engine().get_top(1000)
        self.known = [entry["user_id"] for entry in entries]
        self.known = chance.sample(self.known, min(CROWD, len(self.known)))
        self.newcomers = people(100_000, chance.randrange(2**32))
        scores = [entry["score"] for entry in entries] or [0.0, 100.0]
        self.low, self.high = min(scores), max(scores)
        self.draw = next((one.draw for one in CATALOGUE if one.slug == board.slug), None)

    def submit(self) -> None:
        details = None
        if not self.known or self.chance.random() < 0.05:
            person = next(self.newcomers)
            player_id = f"guest-{self.chance.randrange(10**6)}"
            details = person.details
            self.known.append(player_id)
        else:
            player_id = self.chance.choice(self.known)
        try:
            submit_score(
                board=self.board,
                player_id=player_id,
                score=self.value(),
                details=details,
                source="simulate",
            )
        except SeasonClosedError as error:
            raise CommandError(str(error)) from error

    def value(self) -> float:
        if self.draw is not None:
            return self.draw(self.chance, self.chance.betavariate(3.0, 2.0))
        if self.board.operator == Board.Operator.SUM:
            return float(round((self.high - self.low) * self.chance.random() / 50) + 1)
        return float(round(self.chance.uniform(self.low, self.high * 1.05)))
