"""One board that cannot be served stops nobody else, and staff can see it."""

import pytest
from django.contrib.auth.models import Permission, User
from django.db import OperationalError

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.boards import nearby
from leaderboard.closing import archive, seasons
from leaderboard.log import consumer, troubles
from leaderboard.models import Board, ScoreEvent, Season
from leaderboard.worker import clock
from sessions_app import ops
from tests.leaderboard.support import ACTOR, end_time, forget_seasons, open_board, submit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _new_process():
    forget_seasons()
    ops.forget()


@pytest.fixture
def two():
    """In the order in which the worker serves them: the first is the bad one."""
    return open_board("aaa", schedule="daily"), open_board("zzz", schedule="daily")


def fail_for(slug, real):
    def work(subject, *args, **values):
        board = getattr(subject, "board", subject)
        if board.slug == slug:
            raise ValueError("No  such\nthing")
        return real(subject, *args, **values)

    return work


def noted():
    return [(one.duty, one.slug, one.error) for one in troubles.read()]


def test_the_archive_of_one_board_fails_and_the_others_are_archived(two, monkeypatch, caplog):
    for board in two:
        seasons.close_season(board=board, actor=ACTOR, archive_now=False)
    with monkeypatch.context() as bad:
        bad.setattr(archive, "gather", fail_for("aaa", archive.gather))
        assert clock.archive_waiting() == 1
        assert clock.archive_waiting() == 0
    assert Season.objects.get(board__slug="zzz", number=1).state == "closed"
    assert Season.objects.get(board__slug="aaa", number=1).state == "closing"
    assert noted() == [("archive", "aaa", "ValueError: No such thing")]
    assert caplog.text.count("Failed for one board") == 1  # not with each attempt
    assert clock.archive_waiting() == 1
    assert noted() == []


def test_the_clock_of_one_board_fails_and_the_other_season_ends(two, monkeypatch):
    ticking = clock.Clock()
    ticking.tick()
    for board in two:
        end_time(board)
    with monkeypatch.context() as bad:
        bad.setattr(seasons, "roll_if_over", fail_for("aaa", seasons.roll_if_over))
        ticking.tick()
    assert Season.objects.get(board__slug="zzz", number=1).state == "closing"
    assert [duty for duty, _, _ in noted()] == ["clock"]
    since = troubles.read()[0].since
    # Another process goes on, with the same failure at first and success later.
    with monkeypatch.context() as bad:
        bad.setattr(seasons, "roll_if_over", fail_for("aaa", seasons.roll_if_over))
        clock.Clock().tick()
    assert troubles.read()[0].since == since
    clock.Clock().tick()
    assert noted() == []


def test_a_key_of_the_wrong_kind_stops_one_board_only(two):
    bad, good = two
    for key in (keys.season_pointer(bad.key), keys.events(bad.key), keys.ended_seasons(bad.key)):
        get_redis().delete(key)
        get_redis().set(key, "no such kind")
    end_time(good)
    submit(good, "ada", 1)
    end_time(good)
    clock.Clock().tick()
    clock.archive_waiting()
    clock.sweep()
    reader = consumer.Consumer("t")
    assert reader.run_once() + reader.run_once() == 1
    assert reader.wait(0.01) is None
    assert ScoreEvent.objects.filter(board=good).count() == 1
    assert Season.objects.get(board=good, number=2).state == "closed"
    assert {(duty, slug) for duty, slug, _ in noted()} >= {
        ("clock", "aaa"),
        ("archive", "aaa"),
        ("log", "aaa"),
    }
    assert {slug for _, slug, _ in noted()} == {"aaa"}


def test_what_cannot_be_stored_of_one_board_holds_up_no_other(two, monkeypatch):
    readers = consumer.Consumer("t")
    readers.run_once()
    for board in two:
        submit(board, "ada", 1)
    with monkeypatch.context() as bad:
        bad.setattr(consumer, "_followers", [fail_for("aaa", lambda board, events: None)])
        readers.run_once()
    assert consumer.lag(two[1]) == 0
    assert [(duty, slug) for duty, slug, _ in noted()] == [("log", "aaa")]


def test_the_sweep_goes_on_after_a_bad_board(two, monkeypatch):
    swept = []
    monkeypatch.setattr(nearby, "sweep", fail_for("aaa", lambda board: swept.append(board.slug)))
    clock.sweep()
    assert swept == ["zzz"]
    Board.objects.filter(slug="aaa").delete()
    clock.sweep()
    assert noted() == []


def test_a_database_that_is_away_is_nobodys_fault(two, monkeypatch):
    def away(board):
        raise OperationalError

    monkeypatch.setattr(nearby, "sweep", away)
    with pytest.raises(OperationalError):
        clock.sweep()
    assert noted() == []


def test_staff_see_the_board_its_error_and_since_when(two, client):
    staff = User.objects.create_user("root", is_staff=True)
    staff.user_permissions.add(Permission.objects.get(codename="view_board"))
    client.force_login(staff)
    assert "No board is in trouble." in client.get("/ops/").text
    watch = troubles.Watch("archive")
    watch.failed(two[0], ValueError("<b>No such thing</b>"))
    ops.forget()
    page = client.get("/ops/").text
    assert "ValueError: &lt;b&gt;No such thing&lt;/b&gt;" in page
    assert "Aaa" in page
    watch.works(two[0])
    ops.forget()
    assert "No board is in trouble." in client.get("/ops/").text
