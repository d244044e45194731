"""Ends a process at a chosen point and lets another finish its work; run by `test_kill.py`.

`main("close")` and its like work on the servers that the environment names and print one JSON line
per point. Each part runs in a process of its own, forked from here; the
one that is to die calls `os._exit` in the middle, so that nothing of it is tidied up.
"""

from __future__ import annotations

import io
import json
import os
import signal
import tempfile
import time
import traceback
from functools import partial
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections
from django.test import Client, override_settings

import config.keys
from config.redis.connections import ConnectionFactory, get_redis
from leaderboard import keys
from leaderboard.boards import changing, scores
from leaderboard.closing import archive, seasons
from leaderboard.engine import RedisLeaderboard
from leaderboard.engine import seasons as engine_seasons
from leaderboard.log import consumer, rebuild
from leaderboard.log.build import Build
from leaderboard.models import Board, FinalStanding, ScoreEvent, Season
from leaderboard.seasons import pointer
from leaderboard.worker import clock
from tests.leaderboard.support import ACTOR, open_board
from tests.patience import be_patient

DEAD = 9


def fork(work):
    """Run `work` in a child with connections of its own; returns its process id."""
    connections.close_all()
    if connection.vendor == "postgresql":
        connection.close_pool()  # its threads do not come along
    ConnectionFactory._clients.clear()
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def finish(child):
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def die_after(owner, name, *then):
    """Let the process end the moment this function has returned, or the next time that another
    one returns."""
    real = getattr(owner, name)

    def last_deed(*args, **kwargs):
        result = real(*args, **kwargs)
        if not then:
            os._exit(DEAD)
        die_after(*then)
        return result

    setattr(owner, name, last_deed)


def expire_lock(slug):
    """As if the time of the lock was over that a dead process held."""
    name = config.keys.lock(f"season:{slug}")
    client = get_redis()
    assert client.pttl(name) != -1  # without a time limit
    client.delete(name)


def die_before(owner, name):
    setattr(owner, name, lambda *args, **kwargs: os._exit(DEAD))


CLOSE_POINTS = {
    "the pointer moved": lambda: die_after(pointer, "read_move"),
    "SQL followed": lambda: die_after(seasons, "follow_pointer"),
    "standings gathered": lambda: die_after(archive, "gather"),
    "rows written, not committed": lambda: die_after(archive, "insert_rows"),
    "archive committed": lambda: die_after(archive, "store"),
    "end announced": lambda: die_after(archive, "announce"),
    "some keys dropped": lambda: die_after(RedisLeaderboard, "drop_season"),
    "all keys dropped": lambda: die_before(pointer, "forget_ended"),
}
STORE_POINTS = {
    "events delivered": lambda: die_before(consumer.Consumer, "handle"),
    "rows written, not committed": lambda: die_after(consumer, "insert_rows"),
    "batch committed": lambda: die_after(consumer, "store_batch"),
    "batch acknowledged": lambda: die_after(consumer.Consumer, "acknowledge"),
    "stream trimmed": lambda: die_after(consumer, "trim_stored"),
}

CHANGE_POINTS = {
    "compared with the log": lambda: die_after(rebuild, "_check"),
    "before the pause": lambda: die_before(rebuild, "_pause"),
    "paused": lambda: die_after(rebuild, "_pause"),
    "noted": lambda: die_after(rebuild, "_pause", pointer, "note"),
    "log played": lambda: die_after(rebuild, "_pause", Build, "replay"),
    "the first fresh keys filled": lambda: die_after(RedisLeaderboard, "fill"),
    "all fresh keys filled": lambda: die_after(Build, "load_all"),
    "caught up": lambda: die_after(Build, "catch_up"),
    "live keys dropped": lambda: die_after(Build, "drop_live"),
    "rules saved": lambda: die_before(changing, "wait_until_known"),
    "every process knows them": lambda: die_after(changing, "wait_until_known"),
    "before the swap": lambda: die_before(Build, "swap"),
    "swapped": lambda: die_after(Build, "swap"),
    "before the new calendar": lambda: die_before(seasons, "reschedule"),
}
# From here on the new rules are in SQL.
SAVED = list(CHANGE_POINTS).index("rules saved")


class Writer:
    """A process that submits until it is told to stop, and writes down what was accepted."""

    def __init__(self, slug):
        self.ledger = tempfile.NamedTemporaryFile("r", suffix=".ledger")  # noqa: SIM115
        self.child = fork(lambda: self.write(slug))

    def write(self, slug):
        stop = []
        signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
        board = Board.objects.get(slug=slug)
        with Path(self.ledger.name).open("w") as ledger:
            number = 0
            while not stop:
                number += 1
                player_id = f"{slug}-{number}"
                result = scores.submit_score(board=board, player_id=player_id, score=number)
                ledger.write(f"{result.season} {player_id}\n")
                if number % 20 == 0:
                    ledger.flush()
                    time.sleep(0.005)

    def wait_for(self, lines):
        while len(self.lines()) < lines:
            time.sleep(0.01)

    def lines(self):
        text = Path(self.ledger.name).read_text()
        return [line.split() for line in text.splitlines() if line]

    def stop(self):
        os.kill(self.child, signal.SIGTERM)
        assert finish(self.child) == 0
        return self.lines()


def close_point(number, arm):
    slug = f"close-{number}"
    setup = fork(lambda: open_board(slug, schedule="monthly", windows=["day"]))
    assert finish(setup) == 0
    writer = Writer(slug)
    writer.wait_for(60)

    def close():
        arm()
        seasons.close_season(board=Board.objects.get(slug=slug), actor=ACTOR)

    died = finish(fork(close))
    expire_lock(slug)
    writer.wait_for(len(writer.lines()) + 40)

    def recover():
        board = Board.objects.get(slug=slug)
        ticking = clock.Clock()
        while pointer.read_ended(board) or not Season.objects.filter(board=board, state="open"):
            ticking.tick()
            clock.archive_waiting()
            time.sleep(0.05)

    assert finish(fork(recover)) == 0
    accepted = writer.stop()
    board = Board.objects.get(slug=slug)
    archived = FinalStanding.objects.filter(season__board=board, season__number=1)
    season = Season.objects.get(board=board, number=1)
    live = {entry["user_id"] for entry in board.engine(2).list_all()}
    first = {player for number, player in accepted if number == "1"}
    second = {player for number, player in accepted if number == "2"}
    left = [key.decode() for key in get_redis().scan_iter(f"{board.key}:s1*")]
    return {
        "died": died == DEAD,
        "archive is what was accepted": set(archived.values_list("player_id", flat=True)) == first,
        "the next season has the rest": live == second and bool(second),
        "counted": season.entries == len(first) and season.state == "closed",
        "nothing left": left == [] and pointer.read_ended(board) == [],
        "one next season": Season.objects.filter(board=board).count() == 2,
    }


def store_point(number, arm):
    slug = f"store-{number}"
    assert finish(fork(lambda: open_board(slug))) == 0
    writer = Writer(slug)
    writer.wait_for(60)

    def store():
        arm()
        reader = consumer.Consumer(f"doomed-{number}")
        while True:
            reader._claim_at = 0
            reader.run_once()

    died = finish(fork(store))
    writer.wait_for(len(writer.lines()) + 40)
    accepted = writer.stop()

    def recover():
        board = Board.objects.get(slug=slug)
        reader = consumer.Consumer("heir")
        while True:
            reader._claim_at = 0
            if not reader.run_once() and consumer.lag(board) == 0:
                return

    assert finish(fork(recover)) == 0
    board = Board.objects.get(slug=slug)
    stored = list(ScoreEvent.objects.filter(board=board).values_list("player_id", flat=True))
    return {
        "died": died == DEAD,
        "nothing lost": set(stored) == {player for _, player in accepted},
        "nothing doubled": len(stored) == len(set(stored)),
        "nothing waits": consumer.lag(board) == 0,
        "no dead letters": not get_redis().exists(keys.dead_letters(board.key)),
    }


def change(slug):
    """Another layout, other windows and another calendar at once."""
    changes = {"ties": "member", "windows": ["day", "week"], "schedule": "monthly"}
    changing.change_board(board=Board.objects.get(slug=slug), changes=changes, actor=ACTOR)


def tick(slug):
    clock.Clock().tick()


def rebuild_by_hand(slug):
    call_command("rebuild", slug, stdout=io.StringIO(), stderr=io.StringIO())


def visit(slug):
    """In a process of its own: pages start threads, and a process with threads should not fork."""
    browser = Client(SERVER_NAME="localhost", raise_request_exception=False)
    for address in ("/", f"/boards/{slug}/", f"/boards/{slug}/?window=day"):
        assert browser.get(address).status_code in (200, 503), address
    assert browser.get(f"/api/v1/boards/{slug}/entries").status_code in (200, 503)


def change_point(number, arm, *, recover, at_rest=False):
    slug = f"change-{number}"
    players = {f"p{n}": float(n) for n in range(30)}

    def prepare():
        board = open_board(slug, windows=["day", "all"])
        for player_id, score in players.items():
            scores.submit_score(board=board, player_id=player_id, score=score)
        if at_rest:
            seasons.close_season(board=board, actor=ACTOR)

    def die():
        arm()
        change(slug)

    assert finish(fork(prepare)) == 0
    died = finish(fork(die))
    answered = finish(fork(lambda: visit(slug))) == 0
    expire_lock(slug)
    assert finish(fork(lambda: recover(slug))) == 0
    board = Board.objects.get(slug=slug)
    engine, found = board.engine(), pointer.look(board)
    saved = number >= SAVED
    views = [engine.window(name) for name in board.windows] + ([] if at_rest else [engine])
    rules = (board.ties, board.windows, board.schedule)
    new, old = ("member", ["day", "week"], "monthly"), ("earliest", ["day", "all"], "manual")
    report = changing.rebuild_board(board=board, actor=ACTOR, check=True)
    by_calendar = recover is not tick or at_rest or bool(found.pointer.closes) == saved
    all_time = get_redis().exists(keys.window_entries(board.key, "all", "all"))
    return {
        "died": died == DEAD,
        "pages answered": answered,
        "rules are new or old as a whole": rules == (new if saved else old),
        "every entry is there": all(
            {entry["user_id"]: entry["score"] for entry in view.list_all()} == players
            for view in views
        ),
        "board and log agree": report.count == 0,
        "the season goes on": found.pointer.state == (pointer.CLOSED if at_rest else pointer.OPEN),
        "nothing is left to finish": not found.remake,
        "the season ends by the calendar": by_calendar,
        "nothing left": not list(get_redis().scan_iter(f"{board.key}*:rebuilt*"))
        and bool(all_time) == (not saved),
        "scores are accepted": at_rest
        or scores.submit_score(board=board, player_id="late", score=99.0).rank == 1,
    }


CHECKS = {
    "close": (CLOSE_POINTS, close_point),
    "store": (STORE_POINTS, store_point),
    "change": (CHANGE_POINTS, partial(change_point, recover=tick)),
    "change, then rebuild": (CHANGE_POINTS, partial(change_point, recover=rebuild_by_hand)),
    "change at rest": (CHANGE_POINTS, partial(change_point, recover=tick, at_rest=True)),
}


def main(what):
    be_patient()
    consumer.CLAIM_AFTER = 0.0  # the deliveries of the dead are taken over at once
    consumer.KEPT_STORED = 5
    consumer.BATCH = 25
    engine_seasons.DROPPED_PER_CALL = 20
    call_command("migrate", verbosity=0)
    changing.RULES_KNOWN_AFTER = 0.0
    # Pages without the files that `collectstatic` makes.
    static = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    override_settings(STORAGES=settings.STORAGES | {"staticfiles": static}).enable()
    points, check = CHECKS[what]
    for number, (name, arm) in enumerate(points.items()):
        print(json.dumps({"point": name} | check(number, arm)), flush=True)
