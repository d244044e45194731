"""A whole Rostrum on real servers, and a look at everything it keeps."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.ledger import Clients, Ledger, Watcher
from tests.servers import wait_for
from tests.topologies import Rostrum

SLUG = "ledger"

PREPARE = """
from leaderboard.models import ApiKey
from leaderboard.access import audit
from leaderboard.boards import changing
board = changing.create_board(
    actor=audit.WORKER, slug={slug!r}, name="Ledger", operator="sum", windows=["day", "all"],
    durability={durability!r},
)
print("TOKEN " + ApiKey.make("Ledger", ["read", "submit"], all_boards=True)[1])
"""

LOOK = """
import json
from django.db.models import Count, Sum
from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.log import consumer
from leaderboard.models import Board, FinalStanding, ScoreEvent, Season
board = Board.objects.get(slug={slug!r})
engine = board.engine()
def scores(view):
    return {{row["user_id"]: row["score"] for row in view.scan(details=False)}}
standings = FinalStanding.objects.filter(season__board=board)
events = ScoreEvent.objects.filter(board=board, op="score")
print("LOOK " + json.dumps({{
    "live": scores(engine),
    "all": scores(engine.window("all")),
    "archived": dict(standings.values_list("player_id").annotate(Sum("score"))),
    "events": dict(events.values_list("player_id").annotate(Sum("value"))),
    "keys": events.values("idempotency_key").distinct().count(),
    "rows": events.count(),
    "lag": consumer.lag(board),
    "sequence": int(get_redis().get(keys.sequence(board.key)) or 0),
    "seasons": list(Season.objects.filter(board=board).order_by("number")
        .values_list("number", "state")),
}}))
"""


STREAM = """
from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.log import consumer
from leaderboard.models import Board
stream, client = keys.events(Board.objects.get(slug={slug!r}).key), get_redis()
print("STREAM " + repr([
    client.xinfo_stream(stream),
    client.xinfo_groups(stream),
    client.xinfo_consumers(stream, consumer.GROUP),
    client.xpending(stream, consumer.GROUP),
]))
"""


@dataclass
class Picture:
    """What board, windows, archives and events say, by player."""

    live: dict[str, float]
    all: dict[str, float]
    archived: dict[str, float]
    events: dict[str, float]
    keys: int
    rows: int
    lag: int
    sequence: int
    seasons: list[Any]

    def board(self) -> dict[str, float]:
        """Points by player over all seasons."""
        players = {*self.live, *self.archived}
        return {one: self.live.get(one, 0) + self.archived.get(one, 0) for one in players}

    def lost(self, ledger: Ledger) -> int:
        """Points that were acknowledged and are not on the board."""
        board = self.board()
        return sum(
            max(0, int(points - board.get(player, 0)))
            for player, points in ledger.acknowledged.items()
        )


class Site:
    """Rostrum, a board to which every client adds points, and an API key."""

    def __init__(
        self,
        *,
        durability: str = "primary",
        restore: Callable[[Site], None] | None = None,
        **environment: str,
    ) -> None:
        """`restore` brings the board back before the web server starts; without it one is made."""
        self.directory = tempfile.TemporaryDirectory(prefix="rostrum-site-")
        environment.setdefault("DJANGO_SETTINGS_MODULE", "tests.faults.settings")
        self.rostrum = Rostrum(Path(self.directory.name), **environment)
        self.durability = durability
        self.restore = restore
        self.token = ""
        self.watchers: list[Watcher] = []

    def __enter__(self) -> Site:
        try:
            if self.restore:
                self.restore(self)
            self.rostrum.serve("--no-seed", "--processes", "2")
            if not self.restore:
                text = PREPARE.format(slug=SLUG, durability=self.durability)
                self.token = self.run(text, "TOKEN ")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *details: object) -> None:
        for watcher in self.watchers:
            watcher.stop()
        self.rostrum.stop()
        self.directory.cleanup()

    def run(self, text: str, mark: str) -> str:
        """What a piece of Python, run inside Rostrum, prints after `mark`."""
        done = self.rostrum.manage("shell", "--no-imports", "-c", text, check=False)
        for line in done.stdout.splitlines():
            if line.startswith(mark):
                return line.removeprefix(mark)
        raise AssertionError(done.stdout + done.stderr)

    def clients(self, **options: Any) -> Clients:
        return Clients(self.rostrum.port, SLUG, self.token, **options)

    def watch(self) -> Watcher:
        """A live page that stays open until the end."""
        self.watchers.append(Watcher(self.rostrum.port, SLUG).start())
        return self.watchers[-1]

    def look(self) -> Picture:
        return Picture(**json.loads(self.run(LOOK.format(slug=SLUG), "LOOK ")))

    def settled(self, timeout: float = 90.0) -> Picture:
        """As `look`, once the score log has caught up and no season waits for its archive."""
        found: list[Picture] = []

        def done() -> bool:
            found.append(self.look())
            closing = any(state == "closing" for _, state in found[-1].seasons)
            return found[-1].lag == 0 and not closing

        try:
            wait_for(done, timeout=timeout, step=0.3)
        except AssertionError as error:
            raise AssertionError(f"Not settled: {found[-1]}\n{self.diagnosis()}") from error
        return found[-1]

    def diagnosis(self) -> str:
        """The stream as Redis sees it, what everybody logged, and where the workers stand."""
        for pid in self.pids("manage.py worker"):
            os.kill(pid, signal.SIGUSR1)  # see settings.py
        stream = self.run(STREAM.format(slug=SLUG), "STREAM ")
        logs = sorted(self.rostrum.var.glob("log/*.log"))
        return "\n".join([stream, *(path.read_text() for path in logs), self.rostrum.output()])

    def pids(self, part: str) -> list[int]:
        """Processes of this copy whose command line contains `part`."""
        return [pid for pid, command in self.rostrum.family().items() if part in command]


def assert_all_agree(ledger: Ledger, picture: Picture) -> None:
    """Board, all-time window, events and archives say what the clients were told."""
    expected = {player: float(points) for player, points in ledger.acknowledged.items()}
    assert not ledger.unfinished
    assert picture.board() == expected
    assert picture.all == expected
    assert picture.events == expected
    assert picture.keys == picture.rows == ledger.total
