"""A live board made again from the score log.

The log in SQL is played again (`replay.py`) and loaded into fresh keys beside the live ones, while
scores go on. Then the board is paused for the few scores that came meanwhile, and the fresh keys
take the place of the live ones in one script. Whoever submits in that moment waits for it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from django.db.models import Max, Q, QuerySet

from config import scripts
from config.redis import get_redis
from leaderboard import aliases, consumer, keys, pointer
from leaderboard.engine.seasons import FilledRow
from leaderboard.engine.windows import ALL_TIME, Period, period_at, periods_since
from leaderboard.errors import ServiceError
from leaderboard.models import Board, Player, ScoreEvent, Season
from leaderboard.pointer import CLOSED, OPEN, PAUSED, Pointer, moment
from leaderboard.replay import Ranking, Replay
from leaderboard.retelling import Keys, Told, in_order

logger = logging.getLogger("rostrum.rebuild")

Progress = Callable[[int, int], None]

ATTEMPTS = 3
DRAIN_LIMIT = 60.0  # seconds for the log to catch up before the rebuild begins
PAUSED_DRAIN_LIMIT = 4.0  # and while everybody waits
SHOWN = 20
# How far the times of scores and of season boundaries may have been told by different clocks.
CLOCK_MARGIN = timedelta(days=1)
PORTION = 1000

_swap = scripts.load(Path(__file__).parent / "scripts", "swap_entries")


@dataclass(frozen=True)
class Difference:
    player_id: str
    live: Mapping[str, Any] | None
    log: Mapping[str, Any] | None


@dataclass(frozen=True)
class Report:
    """`differences` between the live season and the log, the first 20 of `count`."""

    entries: int
    count: int
    swapped: bool
    differences: tuple[Difference, ...] = field(default=())


class StructuralChangeError(Exception):
    """Players were removed while the rebuild ran, or the log came out of order: it starts over."""


def check_board(board: Board, *, progress: Progress | None = None) -> Report:
    """Compare the live season with the log; nothing is changed."""
    at = _open_pointer(board)
    build = Build(board, at, drain(board, DRAIN_LIMIT))
    build.replay(progress)
    differences = build.compare()
    if differences:
        # Scores that came during the comparison look like differences; those that stay are.
        whole = drain(board, DRAIN_LIMIT)
        if build.missed():
            build = Build(board, at, whole)
        build.replay()
        differences = build.compare(only={one.player_id for one in differences})
    return Report(
        entries=len(build.season.entries),
        count=len(differences),
        swapped=False,
        differences=tuple(differences[:SHOWN]),
    )


def rebuild_board(
    board: Board, *, progress: Progress | None = None, before_swap: Callable[[], None] | None = None
) -> Report:
    """Make the board again and swap it in; call under the board's season lock.

    With `before_swap` (a change of rules) the board is paused from the start, because scores by
    the old rules do not fit the new keys.
    """
    at = _open_pointer(board)
    for _ in range(ATTEMPTS):
        build = Build(board, at)
        try:
            if before_swap is not None:
                _pause(board, at)
            build.whole = drain(board, DRAIN_LIMIT)
            build.replay(progress)
            differences = build.compare() if before_swap is None else []
            build.load_all()
            if before_swap is None:
                _pause(board, at)
            drain(board, PAUSED_DRAIN_LIMIT)
            build.catch_up()
            if before_swap is not None:
                before_swap()
            if not build.swap(PAUSED, OPEN):
                raise ServiceError("The season ended during the rebuild; run it again.")
        except StructuralChangeError:
            continue
        finally:
            build.clean()
            _resume(board)
        logger.info(
            "Board rebuilt",
            extra={"board": board.slug, "entries": len(build.season.entries)},
        )
        return Report(
            entries=len(build.season.entries),
            count=len(differences),
            swapped=True,
            differences=tuple(differences[:SHOWN]),
        )
    raise ServiceError(f"{board.name} changes too much right now; try again in a quiet minute.")


def rebuild_windows(board: Board, at: Pointer, *, before_swap: Callable[[], None]) -> None:
    """The same between two seasons, under the season lock: nobody can score then, and what is left
    are the windows. They are gone before the new rules are saved: whatever is killed when, no key
    is read by rules that it does not follow."""
    build = Build(board, at, with_season=False)
    try:
        drain(board, DRAIN_LIMIT)
        build.replay()
        build.load_all()
        build.drop_live()
        before_swap()
        if not build.swap(CLOSED, CLOSED):
            raise ServiceError("A season was opened meanwhile; rebuild the board.")
    finally:
        build.clean()


@contextmanager
def settled(board: Board) -> Iterator[None]:
    """Scores wait, and every event is in SQL: what is deleted there now does not come back from
    the hands of a worker. Call under the board's season lock."""
    at = pointer.read(board)
    try:
        if at is not None and at.is_open:
            _pause(board, at)
        drain(board, DRAIN_LIMIT)
        yield
    finally:
        _resume(board)


def drain(board: Board, limit: float) -> int:
    """Wait until every event that the board has had is in SQL, and store what nobody else does.

    What comes meanwhile does not count, or a busy board would never be done. Returns the sequence
    up to which the log is whole; beyond it a later event may be stored before an earlier one.
    """
    whole = int(get_redis().get(keys.sequence(board.key)) or 0)
    last = consumer.last_id(board)
    reader = consumer.Consumer()
    deadline = time.monotonic() + limit
    while True:
        reader.drain(board, last)
        if consumer.is_stored(board, last):
            return whole
        if time.monotonic() > deadline:
            raise ServiceError(
                f"The score log of {board.name} is not stored yet; is the database busy?"
            )
        time.sleep(0.02)


class Build:
    """The season and the windows of one board, played again."""

    def __init__(
        self, board: Board, at: Pointer, whole: int = 0, *, with_season: bool = True
    ) -> None:
        """`whole` is the sequence up to which no event is missing in SQL."""
        self.board, self.at, self.whole, self.with_season = board, at, whole, with_season
        self.engine = board.engine(at.number)
        self.season = self._fresh()
        now = self.engine.now()
        zone = board.zone
        start = now - self.engine.rules.retention
        self.windows: dict[tuple[str, str], tuple[Period, Replay]] = {
            (name, period.name): (period, self._fresh())
            for name in board.windows
            for period in periods_since(name, start, now, zone)
        }
        self.details: dict[str, dict[str, str | None]] = {}
        self.sequence = 0
        self._season = 0  # of the last event played
        self._late = 0  # events played of those after `whole`
        self._keys = Keys()
        self._touched: set[str] = set()
        self._structural = False
        self.ranking = Ranking(board.order, board.ties, board.ranking, board.subscore_order or None)

    def _fresh(self) -> Replay:
        return Replay(self.board.order, self.board.subscore_order or None, self.board.sum_decimals)

    def replay(self, progress: Progress | None = None) -> None:
        """Play all events after those already played."""
        self._touched, self._structural = set(), False
        events = self._needed(self.sequence)
        total = events.count() if progress else 0
        rows = events.order_by("sequence").values_list(*Told._fields)
        told = map(Told._make, rows.iterator(chunk_size=PORTION))
        for count, event in enumerate(in_order(told), 1):
            self._play(event)
            if progress and count % PORTION == 0:
                progress(count, total)

    def missed(self) -> bool:
        """Whether an event was stored after a later one had been played; ask when all are stored.

        Two workers that store batches of one board can do that.
        """
        late = self._needed(self.whole).filter(sequence__lte=self.sequence)
        return late.count() != self._late

    def _needed(self, after: int) -> QuerySet[ScoreEvent]:
        """What there is to play. The seasons say where in the index to look: later events are of
        the same or a later one. A removal that meets a season's end may name the last."""
        events = ScoreEvent.objects.filter(
            board=self.board, season__gte=self._season - 1, sequence__gt=after
        )
        if ALL_TIME in self.board.windows:
            return events
        since = min((period.start for period, _ in self.windows.values()), default=None)
        if since is None:
            return events.filter(season=self.at.number)
        opened = Season.objects.filter(board=self.board, opens__lte=moment(since) - CLOCK_MARGIN)
        first = opened.aggregate(Max("number"))["number__max"] or 0
        return events.filter(season__gte=min(first, self.at.number)).filter(
            Q(season=self.at.number) | Q(at__gte=since)
        )

    def _play(self, event: Told) -> None:
        op, player_id = event.op, event.player_id
        self.sequence, self._season = max(self.sequence, event.sequence), event.season
        self._late += event.sequence > self.whole
        data = event.data or {}
        here = event.season == self.at.number
        if op == "score":
            if not self._keys.repeats(event):
                self._score(event)
            self._touched.add(player_id)
        elif op == "remove":
            for one in self._all():
                one.remove(player_id)
            self.details.pop(player_id, None)
            self._structural = True
        elif op == "reset":
            for one in self._all():
                one.reset()
            self.details.clear()
            self._structural = True
        elif op == "limit" and here and data.get("limit"):
            self.season.trim(int(data["limit"]), self.ranking)
            self._structural = True
        for trimmed in data.get("trimmed", ()) if here else ():
            self.season.remove(trimmed)
            self._structural = True
        if data.get("details"):
            self.details.setdefault(player_id, {}).update(data["details"])

    def _score(self, event: Told) -> None:
        assert event.value is not None
        second = (event.data or {}).get("given_subscore")
        given = event.operator, event.value, second, event.at, event.sequence
        if event.season == self.at.number:
            self.season.score(event.player_id, *given)
        for key in self._periods(event.at):
            if key in self.windows:
                self.windows[key][1].score(event.player_id, *given)

    def _periods(self, at: int) -> Iterator[tuple[str, str]]:
        for name in self.board.windows:
            yield name, period_at(name, at, self.board.zone).name

    def _all(self) -> list[Replay]:
        return [self.season, *(replay for _, replay in self.windows.values())]

    def compare(self, only: set[str] | None = None) -> list[Difference]:
        """Where the live season and the log disagree."""
        live = {
            entry["user_id"]: _standing(entry, self.ranking)
            for entry in self.engine.scan(PORTION, details=False)
        }
        hidden = {one.decode() for one in get_redis().smembers(keys.hidden(self.board.key))}
        logged = {
            row["user_id"]: _standing(row, self.ranking)
            for row in self.season.rows()
            if row["user_id"] not in hidden
        }
        names = only if only is not None else live.keys() | logged.keys()
        return [
            Difference(name, live.get(name), logged.get(name))
            for name in sorted(names)
            if live.get(name) != logged.get(name)
        ]

    def load_all(self) -> None:
        """Fill the fresh keys, and give back the details that Redis has lost."""
        self.clean()
        if self.with_season:
            self.engine.beside().fill(self._with_lost_details(self.season))
        for (name, period), (_, replay) in self.windows.items():
            if self.board.max_entries:
                replay.trim(self.board.max_entries, self.ranking)
            window = self.engine.window(name, None if name == ALL_TIME else period)
            window.beside().fill(self._with_lost_details(replay))

    def catch_up(self) -> None:
        """Add what came since; the board is paused, so this is the rest."""
        if self.missed():
            raise StructuralChangeError
        self.replay()
        if self._structural:
            raise StructuralChangeError
        if not self._touched:
            return
        replays = [(self.engine, self.season)]
        for (name, period), (_, replay) in self.windows.items():
            window = self.engine.window(name, None if name == ALL_TIME else period)
            replays.append((window, replay))
        for live, replay in replays:
            rows = (row for row in replay.rows() if row["user_id"] in self._touched)
            live.beside().load(rows)

    def swap(self, state: str, state_after: str) -> bool:
        base = self.board.key
        suffixes = [key.removeprefix("x") for key in keys.entries_keys("x", Board.Group.values)]
        return bool(
            _swap(
                get_redis(),
                [keys.season_pointer(base), keys.sequence(base), keys.live(base), *self._live()],
                [self.at.number, state, state_after, self.sequence, *suffixes],
            )
        )

    def clean(self) -> None:
        """Fresh keys that were not swapped in: of this build, or of one that died."""
        for entries in self._live():
            get_redis().unlink(*keys.entries_keys(keys.rebuilt(entries), Board.Group.values))

    def drop_live(self) -> None:
        for entries in self._live():
            get_redis().unlink(*keys.entries_keys(entries, Board.Group.values))

    def _live(self) -> list[str]:
        """The sorted sets that are made again."""
        season = [self.engine.entries_key] if self.with_season else []
        return season + [
            keys.window_entries(self.board.key, name, period) for name, period in self.windows
        ]

    def _with_lost_details(self, replay: Replay) -> Iterator[FilledRow]:
        rows = replay.filled_rows()
        while portion := list(islice(rows, PORTION)):
            self._give_back(portion)
            yield from portion

    def _give_back(self, rows: list[FilledRow]) -> None:
        """The log has what was submitted; the players' own rows what was there before it."""
        pipe = get_redis().pipeline(transaction=False)
        for row in rows:
            pipe.exists(keys.user(self.board.key, row[0]))
        lost = [row for row, known in zip(rows, pipe.execute(), strict=True) if not known]
        profiles = Player.objects.in_bulk([row[0] for row in lost]) if lost else {}
        for player_id, *_, flat in lost:
            player = profiles.get(player_id)
            told = profile_details(player) | self.details.get(player_id, {})
            known = {name: value for name, value in told.items() if value is not None}
            known.pop(aliases.ALIAS, None)  # of the time when the player was anonymous
            if player is not None and player.privacy == Player.Privacy.ANONYMOUS:
                known = aliases.anonymous_details(self.board, player_id)
            flat.extend(part for pair in known.items() for part in pair)


def profile_details(player: Player | None) -> dict[str, str]:
    if player is None:
        return {}
    known = {
        "name": player.display_name,
        "country": player.country,
        "team": player.team,
        "avatar": player.avatar,
    }
    return {name: value for name, value in known.items() if value}


def _standing(entry: Mapping[str, Any], ranking: Ranking) -> dict[str, Any]:
    standing = {"score": entry["score"]}
    if ranking.subscore:
        standing["subscore"] = entry["subscore"]
    if ranking.ties != "member":
        standing |= {"at": entry["at"], "counter": entry["counter"]}
    return standing


def _open_pointer(board: Board) -> Pointer:
    at = pointer.current(board)
    if at is None or at.state not in {OPEN, PAUSED}:
        raise ServiceError(f"{board.name} has no open season; past seasons are in SQL already.")
    return at


def _pause(board: Board, at: Pointer) -> None:
    _set_state(board, at, OPEN, PAUSED)


def _resume(board: Board) -> None:
    at = pointer.read(board)
    if at is not None:
        _set_state(board, at, PAUSED, OPEN)


def _set_state(board: Board, at: Pointer, before: str, after: str) -> None:
    pointer.move(
        board,
        believed=Pointer(at.number, before, at.opens, at.closes),
        mode="keep",
        number=at.number,
        state=after,
        opens=at.opens,
        closes=at.closes,
    )(get_redis())
