"""`manage.py simulate`: live traffic for a demo."""

from __future__ import annotations

import random
import time
from typing import Any

from django.core.management.base import CommandError, CommandParser

from config.processes import exit_with_parent
from config.redis.connections import OUTAGE_ERRORS
from leaderboard.boards.scores import submit_score
from leaderboard.errors import SeasonClosedError
from leaderboard.management.arguments import LeaderboardCommand, board_named, positive
from leaderboard.models import Board
from leaderboard.sample.catalogue import CATALOGUE
from leaderboard.sample.people import people
from sessions_app import presence

CROWD = 40  # how many players of a board take part, from the top, where people look
CLIMB = 0.7  # share of the scores that pass a player just above; the others are random
REST = 1.0  # seconds until the next check, when nobody watches


class Command(LeaderboardCommand):
    help = (
        "Submit scores of made-up players, so that open boards move. Asks before it scores on "
        "a board that is not a demo. Stop with Ctrl-C."
    )
    examples = (
        "  manage.py simulate                          two scores a second over all demo boards\n"
        "  manage.py simulate --board neon-drift --rate 10\n"
        "  manage.py simulate --while-watched          only on boards that someone watches\n"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--board", help="the board's slug; without it, every demo board")
        parser.add_argument("--rate", type=float, default=2.0, help="scores a second (default 2)")
        parser.add_argument("--count", type=positive, help="stop after this many scores")
        parser.add_argument("--seed", type=int, help="the same number gives the same scores")
        parser.add_argument(
            "--while-watched", action="store_true", help="pause while nobody watches a board"
        )
        parser.add_argument(
            "--yes", action="store_true", help="do not ask before scoring on a board of your own"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not 0 < options["rate"] <= 1000:
            raise CommandError("--rate must be above 0 and at most 1000.")
        if options["board"]:
            board = board_named(options["board"])
            if board.submitters != Board.Submitters.DEMO:
                self.confirm(
                    f"{board.slug} is not a demo board. Made-up players and scores would be added"
                    " to it and to its log.",
                    yes=options["yes"],
                )
        exit_with_parent()
        watched_only = options["while_watched"]
        if not watched_only and not self.boards(options["board"]):
            raise CommandError("There is no demo board; `manage.py seed` creates some.")
        chance = random.Random(options["seed"])  # noqa: S311 sample scores, the same for the same seed
        crowds: dict[str, Players] = {}
        sent = 0
        try:
            while options["count"] is None or sent < options["count"]:
                begin = time.monotonic()
                boards = self.boards(options["board"])
                if watched_only:
                    boards = self.watched(boards)
                if boards:
                    board = chance.choice(boards)
                    if board.slug not in crowds:
                        crowds[board.slug] = Players(board, chance)
                    sent += self.submit(crowds[board.slug], patient=watched_only)
                # A little uneven, as people are.
                pause = chance.uniform(0.5, 1.5) / options["rate"] if boards else REST
                time.sleep(max(0.0, pause - (time.monotonic() - begin)))
        except KeyboardInterrupt:
            pass
        self.stdout.write(f"{sent:,} scores submitted.")

    def boards(self, slug: str | None) -> list[Board]:
        if slug:
            return [board_named(slug)]
        return list(Board.objects.filter(submitters=Board.Submitters.DEMO))

    def watched(self, boards: list[Board]) -> list[Board]:
        try:
            counts = presence.counts([board.slug for board in boards])
        except OUTAGE_ERRORS:
            return []
        return [board for board in boards if counts.get(board.slug)]

    def submit(self, crowd: Players, *, patient: bool) -> bool:
        """Whether the score was accepted. If `patient`, survive outages and closed seasons."""
        try:
            crowd.submit()
        except SeasonClosedError as error:
            if not patient:
                raise CommandError(str(error)) from error
            return False
        except OUTAGE_ERRORS:
            if not patient:
                raise
            return False
        return True


class Players:
    """The players of one board: some who are on it, and a new one from time to time."""

    def __init__(self, board: Board, chance: random.Random) -> None:
        self.board, self.chance = board, chance
        entries = board.engine().get_top(CROWD)
        self.known = [entry["user_id"] for entry in entries]
        self.newcomers = people(100_000, chance.randrange(2**32))
        scores = [entry["score"] for entry in entries] or [0.0, 100.0]
        self.low, self.high = min(scores), max(scores)
        # The largest step of one score; a few scores at the top may be far out of range.
        self.reach = abs(scores[len(scores) // 8] - scores[-1])
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
        climb = self.climb(player_id) if self.chance.random() < CLIMB else None
        submit_score(
            board=self.board,
            player_id=player_id,
            score=self.value() if climb is None else climb,
            details=details,
            source="simulate",
        )

    def climb(self, player_id: str) -> float | None:
        """A value with which a player passes one of the next few above, if there is one."""
        around = self.board.engine().get_around_user(player_id, 9)
        own = next((place for place, row in enumerate(around) if row["user_id"] == player_id), 0)
        if own == 0:
            return None
        own_score = around[own]["score"]
        target = around[self.chance.randrange(own)]["score"]
        if abs(target - own_score) > self.reach:
            return None  # a score far above, somebody's try: passing it would end the contest
        passed = target + (target - own_score) * self.chance.uniform(0.01, 0.1)
        whole = all(row["score"].is_integer() for row in around)
        passed = float(round(passed)) if whole else round(passed, 3)
        if self.board.lowest_score is not None:
            passed = max(passed, self.board.lowest_score)
        if self.board.highest_score is not None:
            passed = min(passed, self.board.highest_score)
        return passed - own_score if self.board.operator == Board.Operator.SUM else passed

    def value(self) -> float:
        if self.draw is not None:
            return self.draw(self.chance, self.chance.betavariate(3.0, 2.0))
        if self.board.operator == Board.Operator.SUM:
            return float(round((self.high - self.low) * self.chance.random() / 50) + 1)
        return float(round(self.chance.uniform(self.low, self.high * 1.05)))
