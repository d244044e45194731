"""One board played again from the score log, into fresh keys beside the live ones.

`rebuild.py` decides when that is done, and swaps the fresh keys in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

from django.db.models import Max, Q, QuerySet

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.access import aliases
from leaderboard.engine import RedisLeaderboard
from leaderboard.engine.functions import LIBRARY
from leaderboard.engine.seasons import FilledRow
from leaderboard.engine.windows import ALL_TIME, Period, period_at, periods_since
from leaderboard.log.differences import Difference
from leaderboard.log.order import Keys, Told, in_order
from leaderboard.log.replay import Ranking, Replay
from leaderboard.models import Board, Player, ScoreEvent, Season
from leaderboard.seasons.pointer import CLOSED, OPEN, PAUSED, Pointer, moment

Progress = Callable[[int, int], None]

# How far the times of scores and of season boundaries may have been told by different clocks.
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
    """The season and the windows of one board, played again. Between two seasons the windows are
    all there is."""

    def __init__(
        self, board: Board, at: Pointer, whole: int = 0, *, with_windows: bool = True
    ) -> None:
        """`whole` is the sequence up to which no event is missing in SQL."""
        self.board, self.at, self.whole = board, at, whole
        self.with_season = at.state != CLOSED
        self.engine = board.engine(at.number)
        self.season = self._fresh()
        now = self.engine.now()
        zone = board.zone
        start = now - self.engine.rules.retention
        self.windows: dict[tuple[str, str], tuple[Period, Replay]] = {
            (name, period.name): (period, self._fresh())
            for name in (board.windows if with_windows else ())
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
        if (ALL_TIME, ALL_TIME) in self.windows:
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

    def views(self) -> Iterator[View]:
        if self.with_season:
            yield View("", self.at.opens, self.engine, self.season)
        for (name, period), (bounds, replay) in self.windows.items():
            live = self.engine.window(name, None if name == ALL_TIME else period)
            label = name if name == ALL_TIME else f"{name} {period}"
            yield View(label, bounds.start, live, replay)

    def compare(self, only: Iterable[Difference] | None = None) -> list[Difference]:
        """Where the live board and the log disagree, or still disagree of `only` these."""
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
            # A live window is trimmed with each score, this one in the end: sums may differ.
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
        """Fill the fresh keys, and give back the details that Redis has lost."""
        self.clean()
        self._trim_windows()
        for view in self.views():
            view.live.beside().fill(self._with_lost_details(view.replay))

    def _trim_windows(self) -> None:
        if self.board.max_entries:
            for _, replay in self.windows.values():
                replay.trim(self.board.max_entries, self.ranking)

    def catch_up(self) -> None:
        """Add what came since; the board is paused, so this is the rest."""
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
        """Put the fresh keys in the place of the live ones, and let scores go on; False when the
        season moved meanwhile."""
        base = self.board.key
        state, after = (PAUSED, OPEN) if self.with_season else (CLOSED, CLOSED)
        suffixes = [key.removeprefix("x") for key in keys.entries_keys("x", Board.Group.values)]
        return bool(
            _swap(
                get_redis(),
                [keys.season_pointer(base), keys.sequence(base), keys.live(base), *self._live()],
                [self.at.number, state, after, self.sequence, *suffixes],
            )
        )

    def clean(self) -> None:
        """Fresh keys that were not swapped in: of this build, or of one that died and may have had
        other windows."""
        now = self.engine.now()
        start = now - self.engine.rules.retention
        sets = [
            keys.window_entries(self.board.key, name, period.name)
            for name in Board.Window.values
            for period in periods_since(name, start, now, self.board.zone)
        ]
        _unlink(map(keys.rebuilt, [self.engine.entries_key, *sets]))

    def drop_live(self) -> None:
        """In one command: whoever is killed leaves all of them or none."""
        _unlink(self._live())

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
        details = self.details_of([row[0] for row in lost])
        for player_id, *_, flat in lost:
            flat.extend(part for pair in details[player_id].items() for part in pair)

    def details_of(self, player_ids: list[str]) -> dict[str, dict[str, str]]:
        """As the board shows them: what was submitted goes before the profile."""
        profiles = Player.objects.in_bulk(player_ids) if player_ids else {}
        found = {}
        for player_id in player_ids:
            player = profiles.get(player_id)
            told = profile_details(player) | self.details.get(player_id, {})
            known = {name: value for name, value in told.items() if value is not None}
            known.pop(aliases.ALIAS, None)  # of the time when the player was anonymous
            if player is not None and player.privacy == Player.Privacy.ANONYMOUS:
                known = aliases.anonymous_details(self.board, player_id)
            found[player_id] = known
        return found


def _unlink(sets: Iterable[str]) -> None:
    gone = [key for entries in sets for key in keys.entries_keys(entries, Board.Group.values)]
    if gone:
        get_redis().unlink(*gone)


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
