"""The worker does its duties, outlives failures, and stops when asked."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from django.db import OperationalError

from config.redis.locks import hold
from leaderboard.boards import changing
from leaderboard.log import consumer
from leaderboard.models import ScoreEvent, Season
from leaderboard.seasons import pointer
from leaderboard.worker import clock
from leaderboard.worker.duties import Worker
from tests.leaderboard.support import ACTOR, end_time, forget_seasons, open_board, submit
from tests.servers import ON_CLUSTER, OWN_SERVER, new_database, wait_for

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _new_process():
    forget_seasons()


class Running:
    """A worker in a thread of its own."""

    def __init__(self):
        self.worker = Worker()
        self.ended = []
        self.thread = threading.Thread(target=lambda: self.ended.append(self.worker.run()))
        self.thread.start()

    def stop(self):
        self.worker.stop()
        self.thread.join()
        assert self.ended


@pytest.fixture
def start():
    running = []

    def begin():
        running.append(Running())
        return running[-1]

    yield begin
    for one in running:
        one.stop()


def test_scores_are_stored_and_seasons_end_by_themselves(start):
    board = open_board(schedule="daily")
    worker = start()
    submit(board, "ada", 10)
    end_time(board)
    # Asked of Redis: threads that share the tests' database in memory lock each other out.
    wait_for(lambda: pointer.read(board).number == 2 and not pointer.read_ended(board))
    wait_for(lambda: consumer.lag(board) == 0)
    worker.stop()
    assert ScoreEvent.objects.filter(board=board, player_id="ada").exists()
    assert Season.objects.get(board=board, number=1).entries == 1


def is_waiting():
    """Whether a reader is blocked in Redis."""
    return any("b" in one["flags"] for one in OWN_SERVER.client_of("any").client_list())


@pytest.mark.skipif(ON_CLUSTER, reason="one call cannot wait for streams in several slots")
def test_the_log_waits_in_redis_for_the_next_score_of_any_board(start):
    boards = [open_board("one"), open_board("two")]
    start()
    for board in boards:
        wait_for(is_waiting)
        submit(board, "ada", 10)
        wait_for(lambda board=board: consumer.lag(board) == 0)
    wait_for(is_waiting)
    late = open_board("three")
    submit(late, "ada", 10)
    wait_for(lambda: consumer.lag(late) == 0)
    wait_for(is_waiting)
    changing.delete_board(board=late, actor=ACTOR)
    submit(boards[0], "bob", 5)
    wait_for(lambda: consumer.lag(boards[0]) == 0)


def test_a_log_that_waits_stops_when_asked(start):
    open_board()
    worker = start()
    wait_for(lambda: ON_CLUSTER or is_waiting())
    worker.stop()
    assert worker.ended == [True]


def test_of_two_workers_one_keeps_the_time(start, monkeypatch):
    ticks = []
    monkeypatch.setattr(clock.Clock, "tick", lambda self: ticks.append(id(self)))
    start()
    start()
    wait_for(lambda: len(ticks) > 4)
    assert len(set(ticks)) == 1


def test_a_worker_waits_while_another_leads(start, monkeypatch):
    ticks = []
    monkeypatch.setattr(clock.Clock, "tick", lambda self: ticks.append(1))
    with hold("season-clock"):
        start()
        wait_for(lambda: "clock" in [thread.name for thread in threading.enumerate()])
        assert not ticks
    wait_for(lambda: ticks)


def test_a_duty_that_fails_is_taken_up_again(start, monkeypatch):
    board = open_board()
    real, failures = consumer.Consumer.run_once, []

    def broken(self):
        if len(failures) < 1:
            failures.append(1)
            raise OperationalError("database is away")
        return real(self)

    monkeypatch.setattr(consumer.Consumer, "run_once", broken)
    start()
    submit(board, "ada", 10)
    wait_for(lambda: failures and consumer.lag(board) == 0)


def test_the_command_ends_on_sigterm(redis_server, tmp_path):
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": new_database(tmp_path),
        "REDIS_URL": redis_server.url,
    }
    manage = [sys.executable, "manage.py"]
    subprocess.run([*manage, "migrate", "-v0"], env=environment, check=True)
    log = tmp_path / "log"
    with log.open("w") as output:
        worker = subprocess.Popen([*manage, "worker"], env=environment, stderr=output)
        try:
            wait_for(lambda: "Worker is up" in log.read_text(), timeout=60)
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(60) == 0
        finally:
            worker.kill()
