"""Play one board again from the score log, into fresh keys beside the live ones.

`rebuild.py` decides when to do so, and swaps the fresh keys in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain, islice
from typing import Any

from django.db.models import Max, Q, QuerySet

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.access import aliases
from leaderboard.engine import RedisLeaderboard
from leaderboard.engine.functions import LIBRARY
from leaderboard.engine.seasons import FilledRow
from leaderboard.engine.windows import ALL_TIME, Period, period_at, periods_since
from leaderboard.log import records
from leaderboard.log.differences import Difference
from leaderboard.log.order import LogRow, PlayedKeys, in_order
from leaderboard.log.replay import Ranking, Replay
from leaderboard.models import Board, Player, ScoreEvent, Season
from leaderboard.seasons.pointer import CLOSED, OPEN, PAUSED, Pointer, moment

Progress = Callable[[int, int], None]

# How far the clocks behind the times of scores and of season boundaries may differ.
CLOCK_MARGIN = timedelta(days=1)
PORTION = 1000

_swap = LIBRARY["swap_entries"]


class StructuralChangeError(Exception):
    """Players were removed while the rebuild ran, or the log came out of order: it starts over."""


@dataclass(frozen=True)
class View:
    """One sorted set of the board: the season (`name` is ''), or one period of a window."""

    name: str
    since: int  # microseconds
    live: RedisLeaderboard
    replay: Replay


class Build:
    """The season and the windows of one board, played again. Between two seasons there are only
    windows."""

    def __init__(
        self, board: Board, pointer: Pointer, complete_to: int = 0, *, with_windows: bool = True
    ) -> None:
        """`complete_to` is the sequence up to which no event is missing in SQL."""
        self.board, self.pointer, self.complete_to = board, pointer, complete_to
        self.with_season = pointer.state != CLOSED
        self.engine = board.engine(pointer.number)
        self.ranking = Ranking(board.order, board.ties, board.ranking, board.subscore_order or None)
        self.season = self._fresh()
        self.windows: dict[Period, Replay] = {
            period: self._fresh() for period in self._periods(board.windows if with_windows else ())
        }
        self.details: dict[str, dict[str, str | None]] = {}
        self.sequence = 0
        self._season = 0  # of the last event played
        self._late = 0  # events played of those after `complete_to`
        self._keys = PlayedKeys()
        self._touched: set[str] = set()
        self._structural = False

    def _fresh(self) -> Replay:
        return Replay(self.board.order, self.board.subscore_order or None, self.board.sum_decimals)

    def _periods(self, windows: Iterable[str]) -> list[Period]:
        """The periods of these windows that Redis still keeps."""
        now = self.engine.now()
        start, zone = now - self.engine.rules.retention, self.board.zone
        return [period for name in windows for period in periods_since(name, start, now, zone)]

    def replay(self, progress: Progress | None = None) -> None:
        """Play all events after those already played."""
        self._touched, self._structural = set(), False
        events = self._needed(self.sequence)
        total = events.count() if progress else 0
        rows = events.order_by("sequence").values_list(*LogRow._fields)
        logged = map(LogRow._make, rows.iterator(chunk_size=PORTION))
        for count, event in enumerate(in_order(logged), 1):
            self._play(event)
            if progress and count % PORTION == 0:
                progress(count, total)

    def missed(self) -> bool:
        """Whether an event was stored after a later one had been played. Call it when all events
        are stored.

        Two workers that store batches of one board can cause this.
        """
        late = self._needed(self.complete_to).filter(sequence__lte=self.sequence)
        return late.count() != self._late

    def _needed(self, after: int) -> QuerySet[ScoreEvent]:
        """The events to play. Filtered by season for the index: later events belong to the same or
        a later one, except that a removal at a season's end may name the last."""
        events = ScoreEvent.objects.filter(
            board=self.board, season__gte=self._season - 1, sequence__gt=after
        )
        if any(period.window == ALL_TIME for period in self.windows):
            return events
        number = self.pointer.number
        if not self.windows:
            return events.filter(season=number)
        since = min(period.start for period in self.windows)
        opened = Season.objects.filter(board=self.board, opens__lte=moment(since) - CLOCK_MARGIN)
        first = opened.aggregate(Max("number"))["number__max"] or 0
        return events.filter(Q(season=number) | Q(at__gte=since), season__gte=min(first, number))

    def _play(self, event: LogRow) -> None:
        op, player_id = event.op, event.player_id
        self.sequence, self._season = max(self.sequence, event.sequence), event.season
        self._late += event.sequence > self.complete_to
        data = event.data or {}
        here = event.season == self.pointer.number
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

    def _score(self, event: LogRow) -> None:
        assert event.value is not None
        subscore = (event.data or {}).get("given_subscore")
        given = event.operator, event.value, subscore, event.at, event.sequence
        if event.season == self.pointer.number:
            self.season.score(event.player_id, *given)
        for name in self.board.windows:
            window = self.windows.get(period_at(name, event.at, self.board.zone))
            if window is not None:
                window.score(event.player_id, *given)

    def _all(self) -> list[Replay]:
        return [self.season, *self.windows.values()]

    def views(self) -> Iterator[View]:
        if self.with_season:
            yield View("", self.pointer.opens, self.engine, self.season)
        for period, replay in self.windows.items():
            label = ALL_TIME if period.window == ALL_TIME else f"{period.window} {period.name}"
            live = self.engine.window(period.window, period.name)
            yield View(label, period.start, live, replay)

    def compare(self, only: Iterable[Difference] | None = None) -> list[Difference]:
        """Where the live board and the log differ; with `only`, which of these still do."""
        self._trim_windows()
        hidden = {one.decode() for one in get_redis().smembers(keys.hidden(self.board.key))}
        before = None if only is None else {(one.view, one.player_id) for one in only}
        found = []
        for view in self.views():
            live = {
                entry["user_id"]: _standing(entry, self.ranking)
                for entry in view.live.scan(PORTION, details=False)
            }
            logged = {
                row["user_id"]: _standing(row, self.ranking)
                for row in view.replay.rows()
                if row["user_id"] not in hidden
            }
            # A live window is trimmed with each score, this one at the end: sums may differ.
            if view.name and self.board.max_entries and len(live) == len(logged):
                continue
            found += [
                Difference(view.name, view.since, name, live.get(name), logged.get(name))
                for name in sorted(live.keys() | logged.keys())
                if live.get(name) != logged.get(name)
                and (before is None or (view.name, name) in before)
            ]
        return found

    def load_all(self) -> None:
        """Fill the fresh keys, and restore details that Redis has lost."""
        self.clean()
        self._trim_windows()
        for view in self.views():
            view.live.beside().fill(self._with_lost_details(view.replay))

    def _trim_windows(self) -> None:
        if self.board.max_entries:
            for replay in self.windows.values():
                replay.trim(self.board.max_entries, self.ranking)

    def catch_up(self) -> None:
        """Add the events that came since; the board is paused, so no more follow."""
        if self.missed():
            raise StructuralChangeError
        self.replay()
        if self._structural:
            raise StructuralChangeError
        if not self._touched:
            return
        for view in self.views():
            rows = (row for row in view.replay.rows() if row["user_id"] in self._touched)
            view.live.beside().load(rows)

    def swap(self) -> bool:
        """Replace the live keys by the fresh ones and let scores continue. Return False if the
        season moved meanwhile."""
        base = self.board.key
        state, after = (PAUSED, OPEN) if self.with_season else (CLOSED, CLOSED)
        suffixes = keys.entries_keys("", Board.Group.values)
        return bool(
            _swap(
                get_redis(),
                [keys.season_pointer(base), keys.sequence(base), keys.live(base), *self._live()],
                [self.pointer.number, state, after, self.sequence, *suffixes],
            )
        )

    def clean(self) -> None:
        """Delete fresh keys that were not swapped in: of this build, or of one that died and may
        have had other windows."""
        sets = [self.engine.entries_key, *map(self._entries, self._periods(Board.Window.values))]
        _unlink(map(keys.rebuilt, sets))

    def drop_live(self) -> None:
        """Delete the live keys in one command: a process that is killed leaves all or none."""
        _unlink(self._live())

    def _live(self) -> list[str]:
        """The sorted sets that are made again."""
        season = [self.engine.entries_key] if self.with_season else []
        return [*season, *map(self._entries, self.windows)]

    def _entries(self, period: Period) -> str:
        return keys.window_entries(self.board.key, period.window, period.name)

    def _with_lost_details(self, replay: Replay) -> Iterator[FilledRow]:
        rows = replay.filled_rows()
        while portion := list(islice(rows, PORTION)):
            pipe = get_redis().pipeline(transaction=False)
            for row in portion:
                pipe.exists(keys.user(self.board.key, row[0]))
            lost = [row for row, known in zip(portion, pipe.execute(), strict=True) if not known]
            details = self.details_of([row[0] for row in lost])
            for player_id, *_, flat in lost:
                flat.extend(chain.from_iterable(details[player_id].items()))
            yield from portion

    def details_of(self, player_ids: list[str]) -> dict[str, dict[str, str]]:
        """Details as the board shows them: submitted ones take precedence over the profile."""
        profiles = Player.objects.in_bulk(player_ids) if player_ids else {}
        found = {}
        for player_id in player_ids:
            player = profiles.get(player_id)
            if player is not None and player.privacy == Player.Privacy.ANONYMOUS:
                found[player_id] = aliases.anonymous_details(self.board, player_id)
                continue
            profile = {
                name: value
                for name, field in records.NAMES.items()
                if (value := getattr(player, field, ""))
            }
            details = profile | self.details.get(player_id, {})
            details.pop(aliases.ALIAS, None)  # from the time when the player was anonymous
            found[player_id] = {name: value for name, value in details.items() if value is not None}
        return found


def _unlink(sets: Iterable[str]) -> None:
    names = [key for entries in sets for key in keys.entries_keys(entries, Board.Group.values)]
    if names:
        get_redis().unlink(*names)


def _standing(entry: Mapping[str, Any], ranking: Ranking) -> dict[str, Any]:
    standing = {"score": entry["score"]}
    if ranking.subscore:
        standing["subscore"] = entry["subscore"]
    if ranking.ties != "member":
        standing |= {"at": entry["at"], "counter": entry["counter"]}
    return standing
