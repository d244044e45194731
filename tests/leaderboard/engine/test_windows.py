"""Days, weeks and months: the periods, their keys, and what outlives them."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from leaderboard import RedisLeaderboard
from leaderboard.engine.errors import LeaderboardError
from leaderboard.engine.windows import period_at, period_named, periods_since

KEY = "leaderboard:{win}"
DAY = 86_400 * 1_000_000


def microseconds(*moment, zone="UTC"):
    return int(datetime(*moment, tzinfo=ZoneInfo(zone)).timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("window", "moment", "zone", "name"),
    [
        ("day", (2026, 11, 16, 0, 0), "UTC", "2026-11-16"),
        ("day", (2026, 11, 16, 23, 59), "Asia/Tokyo", "2026-11-16"),
        ("week", (2027, 1, 3), "UTC", "2026-W53"),
        ("week", (2026, 12, 28), "UTC", "2026-W53"),
        ("week", (2024, 12, 30), "UTC", "2025-W01"),
        ("month", (2026, 2, 28, 23), "America/New_York", "2026-02"),
        ("all", (2026, 2, 28), "UTC", "all"),
    ],
)
def test_a_moment_falls_into(window, moment, zone, name):
    period = period_at(window, microseconds(*moment, zone=zone), ZoneInfo(zone))
    assert period.name == name
    assert period_named(window, name, ZoneInfo(zone)) == period


@pytest.mark.parametrize(
    ("window", "name"),
    [
        ("day", "20261116"),
        ("week", "2026-W47\r"),
        ("week", " 2026-W47"),
        ("month", "2026-11-01"),
        ("all", "ever\r\n"),
    ],
)
def test_a_period_has_one_name_only(window, name):
    board = RedisLeaderboard(None, KEY, windows=(window,), season=1)
    with pytest.raises(LeaderboardError) as error:
        board.window(window, name)
    assert error.value.code == "invalid_period"


def test_the_zone_decides_which_day_it_is():
    moment = microseconds(2026, 11, 16, 23, 30)
    assert period_at("day", moment, ZoneInfo("UTC")).name == "2026-11-16"
    assert period_at("day", moment, ZoneInfo("Europe/Berlin")).name == "2026-11-17"
    assert period_at("day", moment, ZoneInfo("America/Los_Angeles")).name == "2026-11-16"


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", (2026, 3, 29, 12), 23),
        ("Europe/Berlin", (2026, 10, 25, 12), 25),
        ("America/Havana", (2026, 3, 8, 12), 23),  # midnight itself is skipped
        ("Australia/Lord_Howe", (2026, 4, 5, 12), 24.5),
    ],
)
def test_days_have_the_length_that_clocks_give_them(zone, day, hours):
    period = period_at("day", microseconds(*day, zone=zone), ZoneInfo(zone))
    assert (period.end - period.start) / 3_600_000_000 == hours
    before = period_at("day", period.start - 1, ZoneInfo(zone))
    assert before.end == period.start


def test_past_periods_go_back_as_far_as_asked():
    now = microseconds(2026, 3, 1)
    names = [one.name for one in periods_since("month", now - 70 * DAY, now, ZoneInfo("UTC"))]
    assert names == ["2026-03", "2026-02", "2026-01", "2025-12"]
    assert len(periods_since("day", now - 3 * DAY, now, ZoneInfo("UTC"))) == 4
    assert [one.name for one in periods_since("all", 0, now, ZoneInfo("UTC"))] == ["all"]


@pytest.mark.parametrize("rules", [{"ties": "earliest"}, {"subscore": "desc"}, {}])
@pytest.mark.parametrize("others", [[], ["grace", "linus"]])
def test_a_window_goes_on_expiring_when_all_in_it_score_again(client, rules, others):
    board = RedisLeaderboard(client, KEY, None, windows=("day",), **rules)
    entries = board.window("day").entries_key
    for score in (1, 2, 3):
        board.submit_many([{"user_id": one, "score": score} for one in ["ada", *others]])
        board.submit("ada", score + 10)
        assert client.ttl(entries) > 0
        assert not client.exists(f"{entries}:at") or client.ttl(f"{entries}:at") > 0
    board.hide("ada")
    for score in (4, 5):
        board.submit("ada", score)
        assert client.ttl(f"{entries}:aside") > 0


@pytest.fixture
def board(client):
    client.hset(f"{KEY}:season", mapping={"number": 1, "state": "open", "closes": ""})
    return RedisLeaderboard(
        client,
        KEY,
        None,
        ties="earliest",
        operator="sum",
        windows=("day", "week", "month", "all"),
        groups=("team",),
        ranking="dense",
        season=1,
        retention_days=3,
    )


def test_one_write_reaches_every_window(board, client):
    board.submit("player", 5, metadata={"team": "red"})
    board.submit("player", 2)
    for name in board.rules.windows:
        assert board.window(name).get_user_entry("player")["score"] == 7.0
        assert board.window(name).get_group("team", "red")["size"] == 1
    assert board.get_rank("player") == 1
    with pytest.raises(LeaderboardError, match="view"):
        board.window("day").upsert_user("player", 1)


def test_window_keys_outlive_the_window_by_the_retention(board, client):
    board.submit("player", 5, metadata={"team": "red"})
    board.hide("player")
    board.submit("other", 5, metadata={"team": "red"})
    now = board.now()
    for name in ("day", "week", "month"):
        period = period_at(name, now, ZoneInfo("UTC"))
        expiry = (period.end + 3 * DAY) // 1000
        for suffix in ("", ":at", ":aside", ":ranks", ":by:team", ":by:team:ranks"):
            assert client.pexpiretime(f"{KEY}:w:{name}:{period.name}{suffix}") == expiry
    for key in (f"{KEY}:w:all:all", f"{KEY}:w:all:all:at", f"{KEY}:s1", f"{KEY}:user:other"):
        assert client.pexpiretime(key) == -1


def test_a_clock_that_is_wrong_here_does_not_choose_the_day(board, client):
    for wrong in (-40 * DAY, 40 * DAY):
        board._clock_skew = wrong
        board._keys_last = None
        board.submit("player", 1)
    today = datetime.now(UTC).date().isoformat()
    days = {
        (one if isinstance(one, str) else one.decode())
        for one in client.scan_iter()
        if ":w:day:" in str(one) and str(one).rstrip("'").endswith(today)
    }
    assert days == {f"{KEY}:w:day:{today}"}
    assert board.window("day").get_user_entry("player")["score"] == 2.0
    assert abs(board._clock_skew) < DAY


def test_past_periods_can_be_read_by_name(board):
    assert board.window("week", "2026-W01").list_all() == []
    for name, period in (("week", "2026-W60"), ("day", "yesterday"), ("month", "2026-13")):
        with pytest.raises(LeaderboardError) as error:
            board.window(name, period)
        assert error.value.code == "invalid_period"


def test_an_all_time_window_without_seasons_is_the_board_itself(client):
    board = RedisLeaderboard(client, KEY, None, windows=("all",))
    board.upsert_user("player", 3)
    assert board.window("all").get_size() == 1
    names = {one if isinstance(one, str) else one.decode() for one in client.scan_iter()}
    assert names == {KEY}


def test_details_stay_while_their_player_stands_in_a_window(client):
    client.hset(f"{KEY}:season", mapping={"number": 1, "state": "open", "closes": ""})
    rules = {"operator": "sum", "windows": ("month",), "season": 1, "retention_days": 3}
    board = RedisLeaderboard(client, KEY, 2, **rules)
    board.submit("veteran", 100, metadata={"name": "V"})
    month = period_at("month", board.now(), ZoneInfo("UTC"))
    window = f"{KEY}:w:month:{month.name}"
    client.zadd(window, {"veteran": 1})  # most of it was won in an earlier month
    board.submit("champion", 90, metadata={"name": "C"})
    board.submit("newcomer", 50, metadata={"name": "N"})  # third in the season, second this month
    assert board.get_rank("newcomer") is None
    assert board.window("month").get_rank("newcomer") == 2
    assert board.get_user_metadata("newcomer") == {"name": "N"}
    assert client.pexpiretime(f"{KEY}:user:newcomer") == (month.end + 3 * DAY) // 1000
    assert board.submit("newcomer", 95)["rank"] == 2  # from 0 again: trimmed is gone
    assert client.pexpiretime(f"{KEY}:user:newcomer") == -1
    # Out of the window, but still first in the season.
    assert board.window("month").get_rank("veteran") is None
    assert board.get_user_metadata("veteran") == {"name": "V"}


@pytest.mark.parametrize("many", [False, True])
def test_a_sum_too_large_for_a_window_changes_nothing(client, many):
    board = RedisLeaderboard(client, KEY, None, ties="earliest", operator="sum", windows=("day",))
    board.window("day").load([{"user_id": "player", "score": 1.7e308}])
    if many:
        refused, taken = board.submit_many(
            [{"user_id": "player", "score": 1e308}, {"user_id": "other", "score": 1.0}]
        )
        assert taken["score"] == 1.0
    else:
        with pytest.raises(LeaderboardError) as error:
            board.submit("player", 1e308)
        refused = error.value
    assert refused.code == "score_overflow"
    assert board.get_rank("player") is None
    assert board.window("day").get_user_entry("player")["score"] == 1.7e308
