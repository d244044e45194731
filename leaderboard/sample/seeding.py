"""Fill a board with sample data: past seasons in SQL, the running one in Redis and SQL.

Entries are loaded in bulk with their times, and the log is written beside them, as if every score
had been submitted over the last weeks.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.boards import moderation
from leaderboard.closing.archive import FIELDS as STANDING_FIELDS
from leaderboard.engine import RedisLeaderboard
from leaderboard.engine.windows import periods_since
from leaderboard.log.consumer import EVENT_FIELDS
from leaderboard.log.records import PLAYER_FIELDS
from leaderboard.log.replay import Ranking, Replay, standings
from leaderboard.models import Board, FinalStanding, Player, ScoreEvent, Season
from leaderboard.models.bulk import insert_rows, large_cache, storable_json, storable_time
from leaderboard.models.schedule import cron_line, last_boundary, period_of
from leaderboard.sample.catalogue import SampleBoard
from leaderboard.sample.people import DETAILS, Person
from leaderboard.sample.places import share_places
from leaderboard.sample.ranks import Ranks
from leaderboard.seasons import pointer
from leaderboard.seasons.history import forget_season_list

MOST_OTHERS = 1000  # players of past seasons, and of all boards but the first
MOST_WITH_HISTORY = 5000  # with more players, each plays once in the running season
FOREVER = 2**63

Step = Callable[[int], None]


class Attempt(NamedTuple):
    at: int
    person: Person
    value: float
    subscore: float | None


def chance_of(slug: str, seed: int) -> random.Random:
    return random.Random(f"{seed}:{slug}")  # noqa: S311 sample scores, the same for the same seed


def seed_board(
    sample: SampleBoard, people: Sequence[Person], seed: int, step: Step = lambda count: None
) -> Board:
    """Create the board and its players, with past seasons and a running one. SQL is committed
    last, so that a seeding that fails leaves no board behind."""
    chance = chance_of(sample.slug, seed)
    # Each group is one more sorted set, of the season and of every window.
    groups = list(Board.Group.values) if len(people) <= MOST_WITH_HISTORY else []
    with large_cache(), transaction.atomic():
        board = Board(
            slug=sample.slug, submitters=Board.Submitters.DEMO, groups=groups, **sample.values
        )
        board.full_clean()
        board.save()
        seeding = _Seeding(board, sample, people, chance, step)
        seeding.past_seasons()
        seeding.running_season()
    share_places(board, people, chance)
    moderation.apply_everywhere_rules(board)
    forget_season_list(board.pk)
    return board


def first_attempts(
    sample: SampleBoard, people: Sequence[Person], chance: random.Random
) -> list[Attempt]:
    """The attempts of `seed_board` in the running season, ordered by time. Writes nothing. Draws
    from `chance` as often as `seed_board` does."""
    board = Board(slug=sample.slug, **sample.values)
    return _Seeding(board, sample, people, chance, lambda count: None).running_attempts()


class _Seeding:
    def __init__(
        self,
        board: Board,
        sample: SampleBoard,
        people: Sequence[Person],
        chance: random.Random,
        step: Step,
    ) -> None:
        self.board, self.sample, self.people, self.chance = board, sample, people, chance
        self.step = step
        # Many in the middle, few at the ends.
        draw = chance.random
        self.skill = [(draw() + draw() + draw()) / 3 for _ in people]
        self.now = timezone.now()
        self.sequence = 0
        self.ranking = Ranking(board.order, board.ties, board.ranking, board.subscore_order or None)
        # Windows span several seasons. Past ones are filled only where there is a history.
        now = pointer.microseconds(self.now)
        engine = board.engine(1)
        start = now - engine.rules.retention if len(people) <= MOST_WITH_HISTORY else now
        self.windows = [
            (period, self.replay())
            for name in board.windows
            for period in periods_since(name, start, now, board.zone)
        ]
        *self.past, self.present = self.season_times()

    def replay(self) -> Replay:
        return Replay(self.board.order, self.board.subscore_order or None, self.board.sum_decimals)

    def season_times(self) -> list[tuple[datetime, datetime | None]]:
        """When each season opens and closes, oldest first; the last one is running."""
        line = cron_line(self.board.schedule, self.board.cron)
        if line is None:
            length = timedelta(days=self.sample.days)
            opened = (self.now - length / 2).replace(hour=9, minute=0, second=0, microsecond=0)
            starts = [opened - length * n for n in range(self.sample.past_seasons + 1)]
        else:
            starts = [last_boundary(line, self.board.zone, self.now)]
            for _ in range(self.sample.past_seasons):
                before = starts[-1] - timedelta(microseconds=1)
                starts.append(last_boundary(line, self.board.zone, before))
        starts.reverse()
        ends: list[datetime | None] = [*starts[1:]]
        close = pointer.next_close(self.board, self.now)
        ends.append(None if close is None else pointer.moment(close))
        return list(zip(starts, ends, strict=True))

    def past_seasons(self) -> None:
        for number, (opens, closes) in enumerate(self.past, 1):
            assert closes is not None
            season = Season.objects.create(
                board=self.board,
                number=number,
                state=Season.State.CLOSED,
                opens=opens,
                closes=closes,
                closed_at=closes,
                **self.naming(number, opens),
            )
            players = self.some_players()
            attempts = self.attempts(players, opens, closes, self.sample.attempts)
            replay, scores, ranks = self.play(attempts)
            insert_rows(ScoreEvent, EVENT_FIELDS, self.events(number, attempts, scores, ranks))
            rows = list(standings(replay.entries, self.ranking))
            details = {self.people[index].id: self.people[index].details for index in players}
            insert_rows(
                FinalStanding,
                STANDING_FIELDS,
                (
                    (
                        season.pk,
                        position,
                        rank,
                        player_id,
                        details[player_id]["name"],
                        entry.score,
                        entry.subscore if self.ranking.subscore else None,
                        storable_json(details[player_id]),
                    )
                    for position, rank, player_id, entry in rows
                ),
            )
            season.entries = len(rows)
            season.save(update_fields=["entries"])

    def running_season(self) -> None:
        number = len(self.past) + 1
        opens, closes = self.present
        Season.objects.create(
            board=self.board,
            number=number,
            opens=opens,
            closes=closes,
            **self.naming(number, opens),
        )
        attempts = self.present_attempts()
        replay, scores, ranks = self.play(attempts)
        board = self.board
        get_redis().hset(
            keys.season_pointer(board.key),
            mapping={
                "number": number,
                "state": pointer.OPEN,
                "opens": pointer.microseconds(opens),
                "closes": "" if closes is None else pointer.microseconds(closes),
            },
        )
        get_redis().set(keys.sequence(board.key), self.sequence)
        # Redis is filled while SQL stores log and players.
        with ThreadPoolExecutor(1) as filler:
            filling = filler.submit(self.fill, board.engine(number), replay)
            insert_rows(ScoreEvent, EVENT_FIELDS, self.events(number, attempts, scores, ranks))
            now = storable_time(self.now)
            players = ((*person, "", "shown", now) for person in self.people)
            insert_rows(Player, PLAYER_FIELDS, players, skip_known=True)
            filling.result()

    def present_attempts(self) -> list[Attempt]:
        opens, _ = self.present
        many = len(self.people) > MOST_WITH_HISTORY
        players = range(len(self.people))
        return self.attempts(players, opens, self.now, 1 if many else self.sample.attempts)

    def running_attempts(self) -> list[Attempt]:
        """The attempts of the running season, after the same draws as in `past_seasons`."""
        for opens, closes in self.past:
            assert closes is not None
            self.attempts(self.some_players(), opens, closes, self.sample.attempts)
        return self.present_attempts()

    def fill(self, engine: RedisLeaderboard, replay: Replay) -> None:
        engine.fill(replay.filled_rows(self.details()))
        for period, window in self.windows:
            engine.window(period.window, period.name).fill(window.filled_rows())

    def some_players(self) -> list[int]:
        """Not everyone plays every season."""
        among = range(min(len(self.people), MOST_OTHERS))
        return sorted(self.chance.sample(among, k=max(1, len(among) * 4 // 5)))

    def play(self, attempts: Sequence[Attempt]) -> tuple[Replay, array[float], array[int]]:
        """Play the attempts. Return the entries at the end, and the score and rank after each
        attempt. Boards that are too large for a history have no ranks."""
        replay, scores, operator = self.replay(), array("d"), self.board.operator
        ranks = array("q")
        order = Ranks(self.ranking) if len(self.people) <= MOST_WITH_HISTORY else None
        windows = [(period.start, period.end or FOREVER, window) for period, window in self.windows]
        for sequence, attempt in enumerate(attempts, self.sequence + 1):
            at, person, value, subscore = attempt
            one = (person.id, operator, value, subscore, at, sequence)
            scores.append(replay.score(*one))
            if order is not None:
                ranks.append(order.rank(person.id, replay.entries[person.id]))
            for start, end, window in windows:
                if start <= at < end:
                    window.score(*one)
        self.sequence += len(attempts)
        return replay, scores, ranks

    def attempts(
        self, players: Sequence[int], opens: datetime, end: datetime, most: int
    ) -> list[Attempt]:
        chance, draw = self.chance, self.sample.draw
        begin = pointer.microseconds(opens)
        length = max(1, pointer.microseconds(end) - begin)
        second = self.ranking.subscore is not None
        found = [
            Attempt(
                begin + int(chance.random() * length),
                self.people[index],
                draw(chance, self.skill[index]),
                float(chance.randint(8, 36)) if second else None,
            )
            for index in players
            for _ in range(1 if most == 1 else chance.randint(1, most))
        ]
        found.sort(key=itemgetter(0))
        return found

    def events(
        self,
        season: int,
        attempts: Sequence[Attempt],
        scores: Sequence[float],
        ranks: Sequence[int],
    ) -> Iterator[tuple[Any, ...]]:
        """Rows of the log for what `play` has just played."""
        board_id, operator, step = self.board.pk, self.board.operator, self.step
        first = self.sequence - len(attempts) + 1
        places: Iterable[int | None] = ranks or repeat(None, len(attempts))
        played = zip(attempts, scores, places, strict=True)
        for sequence, (attempt, score, rank) in enumerate(played, first):
            at, person, value, subscore = attempt
            if sequence % 1000 == 0:
                step(1000)
            yield (
                board_id,
                season,
                sequence,
                f"{at // 1000}-{sequence}",
                at,
                "score",
                person.id,
                value,
                operator,
                score,
                subscore,
                rank,
                "seed",
                "",
                # As the worker stores it, for a rebuild.
                None if subscore is None else storable_json({"given_subscore": subscore}),
            )

    def details(self) -> Callable[[str], list[str]]:
        by_id = {person.id: person for person in self.people}
        done = 0

        def flat(player_id: str) -> list[str]:
            nonlocal done
            done += 1
            if done % 1000 == 0:
                self.step(1000)
            return list(chain.from_iterable(zip(DETAILS, by_id[player_id][1:], strict=True)))

        return flat

    def naming(self, number: int, opens: datetime) -> dict[str, str]:
        names = self.sample.season_names
        if names:
            return {"name": names[(number - 1) % len(names)]}
        return {"period": period_of(self.board.schedule, self.board.zone, opens)}
