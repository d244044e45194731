"""Seasons open, close, and leave an archive behind."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from config.redis.connections import get_redis
from config.redis.locks import Held, LockTakenError, hold
from leaderboard import keys
from leaderboard.boards import changing, marks, moderation
from leaderboard.closing import archive, seasons
from leaderboard.errors import (
    PlayerBannedError,
    SeasonClosedError,
    SeasonOverlapError,
    ServiceError,
)
from leaderboard.models import AuditEntry, Board, FinalStanding, Season
from leaderboard.models.schedule import period_of
from leaderboard.seasons import history, pointer
from leaderboard.worker import clock
from tests.leaderboard.support import ACTOR, end_time, forget_seasons, ids, open_board, submit, utc

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _new_process():
    forget_seasons()
    marks._seen.clear()


def close(board, **values):
    return seasons.close_season(board=board, actor=ACTOR, **values)


def board_keys(board):
    return {key.decode() for key in get_redis().scan_iter(match=f"{board.key}:*")}


def test_closing_leaves_the_final_standings_and_nothing_in_redis():
    board = open_board(ranking="competition", groups=["team"])
    for player, score in [("ada", 30), ("bob", 20), ("cy", 20), ("di", 10)]:
        submit(board, player, score, details={"name": player.title(), "team": "red"})
    season = close(board)
    assert (season.state, season.entries, season.number) == ("closed", 4, 1)
    rows = FinalStanding.objects.filter(season=season).order_by("position")
    assert [(row.position, row.rank, row.player_id, row.score) for row in rows] == [
        (1, 1, "ada", 30),
        (2, 2, "bob", 20),
        (3, 2, "cy", 20),
        (4, 4, "di", 10),
    ]
    assert rows[0].details == {"name": "Ada", "team": "red"}
    assert rows[0].name == "Ada"
    left = board_keys(board)
    assert left == {
        keys.season_pointer(board.key),
        keys.sequence(board.key),
        keys.events(board.key),
        keys.feed(board.key),
    }
    assert AuditEntry.objects.filter(action="season.close", actor_name="tester").exists()


def test_by_hand_the_board_rests_until_the_next_season_is_opened():
    board = open_board()
    close(board)
    with pytest.raises(SeasonClosedError):
        submit(board, "ada", 1)
    season = seasons.open_season(board=board, actor=ACTOR, name="Finals")
    assert (season.number, season.name, season.state) == (2, "Finals", "open")
    assert submit(board, "ada", 1).season == 2


def test_a_name_that_is_too_long_opens_nothing():
    board = open_board()
    close(board)
    with pytest.raises(ServiceError, match="at most 120 characters"):
        seasons.open_season(board=board, actor=ACTOR, name="x" * 121)
    assert not pointer.read(board).is_open


def test_a_season_that_begins_now_does_not_take_the_place_of_a_planned_one():
    board = open_board()
    close(board)
    now = timezone.now()
    seasons.open_season(board=board, actor=ACTOR, closes=now + timedelta(days=1))
    seasons.open_season(board=board, actor=ACTOR, name="Finals", opens=now + timedelta(days=2))
    with pytest.raises(ServiceError, match="Finals is planned"):
        close(board, open_next=True)
    with pytest.raises(ServiceError, match="Finals is planned"):
        changing.change_board(board=board, changes={"schedule": "daily"}, actor=ACTOR)
    assert Board.objects.get().schedule == "manual"
    assert (pointer.read(board).number, pointer.read(board).state) == (2, "open")
    close(Board.objects.get())
    assert Season.objects.get(number=3).state == "planned"


def test_an_end_set_by_hand_stays_when_the_zone_changes(monkeypatch):
    monkeypatch.setattr(changing, "RULES_KNOWN_AFTER", 0.0)
    board = open_board()
    close(board)
    end = (timezone.now() + timedelta(days=1)).replace(microsecond=0)
    seasons.open_season(board=board, actor=ACTOR, closes=end)
    changing.change_board(board=board, changes={"time_zone": "Asia/Tokyo"}, actor=ACTOR)
    assert pointer.read(board).closes_at == end
    assert Season.objects.get(number=2).closes == end


def test_with_a_schedule_the_next_season_begins_in_the_same_instant():
    board = open_board(schedule="monthly")
    submit(board, "ada", 10)
    close(board)
    assert submit(board, "bob", 5).season == 2
    assert Season.objects.get(board=board, state="open").number == 2
    assert ids(board.engine().get_top(9)) == ["bob"]


def test_details_stay_with_players_who_stand_elsewhere():
    board = open_board(schedule="daily", windows=["all"])
    submit(board, "ada", 10, details={"name": "Ada"})
    close(board)
    assert board.engine().get_user_metadata("ada") == {"name": "Ada"}
    assert ids(board.engine().window("all").get_top(9)) == ["ada"]


@pytest.mark.django_db(transaction=True)
def test_hidden_players_are_not_archived_and_leave_nothing():
    board = open_board()
    submit(board, "bot", 99, details={"name": "Bot"})
    submit(board, "ada", 10)
    moderation.hide_player(board=board, player_id="bot", reason="Bot", actor=ACTOR)
    season = close(board)
    assert [row.player_id for row in season.standings.all()] == ["ada"]
    assert not {key for key in board_keys(board) if ":user:" in key or ":s1" in key}


def test_closing_a_closed_season_says_so():
    board = open_board()
    close(board)
    with pytest.raises(SeasonClosedError, match="Season 1 is already closed"):
        close(board)
    board = open_board("daily", schedule="daily")
    close(board, number=1)
    with pytest.raises(SeasonClosedError, match="already closed"):
        close(board, number=1)
    assert Season.objects.filter(board=board, state="closed").count() == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "still open"),
        ({"opens": timedelta(days=1)}, "would still run"),
        ({"closes": timedelta(days=-1)}, "must close after it opens"),
        ({"opens": timedelta(days=2), "closes": timedelta(days=1)}, "must close after it opens"),
    ],
)
def test_seasons_cannot_overlap(values, message):
    board = open_board()
    times = {name: timezone.now() + ahead for name, ahead in values.items()}
    with pytest.raises(ServiceError, match=message):
        seasons.open_season(board=board, actor=ACTOR, **times)
    assert Season.objects.filter(board=board).count() == 1


def test_a_planned_season_is_opened_by_the_clock():
    board = open_board()
    close(board)
    soon = timezone.now() + timedelta(days=1)
    planned = seasons.open_season(
        board=board, actor=ACTOR, name="Cup", opens=soon, closes=soon + timedelta(days=1)
    )
    with pytest.raises(SeasonOverlapError, match="planned"):
        seasons.open_season(board=board, actor=ACTOR)
    with pytest.raises(SeasonOverlapError, match="planned season already"):
        seasons.open_season(board=board, actor=ACTOR, opens=soon)
    clock.Clock().tick()
    assert not pointer.read(board).is_open
    Season.objects.filter(pk=planned.pk).update(opens=timezone.now() - timedelta(minutes=1))
    clock.Clock().tick()
    planned.refresh_from_db()
    assert (planned.state, planned.name) == ("open", "Cup")
    assert pointer.read(board).closes == pointer.microseconds(soon + timedelta(days=1))
    assert submit(board, "ada", 1).season == planned.number


def test_the_clock_ends_and_archives_a_season_that_nobody_plays():
    board = open_board(schedule="weekly")
    submit(board, "ada", 10)
    end = end_time(board)
    clock.Clock().tick()
    assert clock.archive_waiting() == 1
    first, second = Season.objects.filter(board=board).order_by("number")
    assert (first.state, first.entries, first.closed_at) == ("closed", 1, end)
    assert (second.state, second.opens) == ("open", end)
    assert clock.archive_waiting() == 0
    assert [season["number"] for season in history.season_list(board)] == [1]


def test_seasons_that_ended_while_no_worker_ran_are_all_archived():
    board = open_board(schedule="daily")
    for player in ("ada", "bob", "cy"):
        submit(board, player, 10, details={"name": player})
        end_time(board)
    submit(board, "di", 10)
    clock.Clock().tick()
    assert clock.archive_waiting() == 3
    closed = Season.objects.filter(board=board, state="closed").order_by("number")
    assert [list(s.standings.values_list("name", flat=True)) for s in closed] == [
        ["ada"],
        ["bob"],
        ["cy"],
    ]
    assert not {key for key in board_keys(board) if ":user:" in key}


def test_a_lost_pointer_comes_back_with_the_clock_and_with_it_the_restrictions():
    board = open_board()
    submit(board, "bot", 1)
    moderation.ban_player(player_id="bot", reason="Bot", actor=ACTOR)
    get_redis().flushdb()
    clock.Clock().tick()
    assert pointer.read(board).is_open
    assert get_redis().sismember(keys.hidden(board.key), "bot")
    with pytest.raises(PlayerBannedError):
        submit(board, "bot", 1)


def test_a_holder_who_lost_the_lock_writes_nothing():
    board = open_board()
    submit(board, "ada", 10)
    end_time(board)
    clock.Clock().tick()
    season = Season.objects.get(board=board)
    late, current = Held("season", 1), Held("season", 2)
    archive.archive_season(season, current)
    season.state = "closing"  # as the late one remembers it
    with pytest.raises(LockTakenError):
        archive.archive_season(season, late)
    assert FinalStanding.objects.filter(season=season).count() == 1


def test_whoever_finds_the_board_locked_gives_up_in_time():
    board = open_board()
    end_time(board)
    clock.Clock().tick()
    with hold(f"season:{board.slug}"):
        assert clock.archive_waiting() == 0
        with pytest.raises(LockTakenError), seasons.season_lock(board, wait=0.05):
            pytest.fail("it was taken")
    assert clock.archive_waiting() == 1


@pytest.mark.parametrize(
    ("schedule", "opens", "name"),
    [
        ("daily", "2026-11-15T23:00", "16 November 2026"),
        ("weekly", "2026-11-15T23:00", "Week 47, 2026"),
        ("monthly", "2026-10-31T23:00", "November 2026"),
        ("manual", "2026-10-31T23:00", "Season 4"),
    ],
)
def test_seasons_are_named_in_the_boards_zone(schedule, opens, name):
    period = period_of(schedule, ZoneInfo("Europe/Berlin"), utc(opens))
    assert Season(number=4, period=period).title == name


def test_two_seasons_of_one_week_have_two_names():
    board = open_board(schedule="weekly")
    close(board)
    close(board)
    first, *later = Season.objects.filter(board=board).order_by("number")
    assert [one.title for one in later] == [f"{first.title}, Season {one.number}" for one in later]


def test_a_season_keeps_its_title_when_its_board_gets_another_schedule():
    board = open_board(schedule="weekly")
    title = Season.objects.get(board=board).title
    assert title.startswith("Week ")
    changes = {"schedule": "monthly", "time_zone": "Asia/Tokyo"}
    changing.change_board(board=board, changes=changes, actor=ACTOR)
    assert Season.objects.get(board=board).title == title


def test_a_name_that_somebody_gives_and_takes_back():
    season = Season(number=4, name="Finals", period="2026-11")
    assert season.title == "Finals"
    season.name = ""
    assert season.title == "November 2026"


def test_a_million_is_read_in_portions(monkeypatch):
    board = open_board()
    monkeypatch.setattr(archive, "PORTION", 2)
    for number in range(5):
        submit(board, f"p{number}", number)
    seen = []
    season = close(board, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(2, 5), (4, 5), (5, 5)]
    assert season.entries == 5
