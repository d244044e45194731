"""Seasons end at the board's own midnight, through summer and winter."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.schedule import cron_line, last_boundary, next_boundary

BERLIN = ZoneInfo("Europe/Berlin")


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


def test_a_day_ends_at_midnight_in_the_boards_zone():
    daily = cron_line("daily")
    assert next_boundary(daily, BERLIN, utc(2026, 7, 1, 12)) == utc(2026, 7, 1, 22)
    assert next_boundary(daily, ZoneInfo("Asia/Tokyo"), utc(2026, 7, 1, 12)) == utc(2026, 7, 1, 15)


def test_days_are_shorter_and_longer_when_the_clock_changes():
    daily = cron_line("daily")
    spring = next_boundary(daily, BERLIN, utc(2026, 3, 28, 12))
    assert next_boundary(daily, BERLIN, spring) - spring == timedelta(hours=23)
    autumn = next_boundary(daily, BERLIN, utc(2026, 10, 24, 12))
    assert next_boundary(daily, BERLIN, autumn) - autumn == timedelta(hours=25)


def test_a_midnight_that_does_not_exist_is_the_first_moment_after():
    santiago = ZoneInfo("America/Santiago")
    boundary = next_boundary(cron_line("daily"), santiago, utc(2026, 9, 5, 12))
    assert boundary.astimezone(santiago) == datetime(2026, 9, 6, 1, tzinfo=santiago)


def test_a_time_that_comes_twice_ends_one_season():
    twice = "30 2 * * *"
    first = next_boundary(twice, BERLIN, utc(2026, 10, 24, 12))
    assert next_boundary(twice, BERLIN, first) - first > timedelta(hours=23)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("weekly", utc(2026, 11, 15, 23)), ("monthly", utc(2026, 11, 30, 23))],
)
def test_weeks_begin_on_monday_and_months_on_the_first(name, expected):
    assert next_boundary(cron_line(name), BERLIN, utc(2026, 11, 12)) == expected


def test_by_hand_there_is_no_boundary():
    assert cron_line("manual") is None
    assert cron_line("cron", "0 18 * * 5") == "0 18 * * 5"


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    minutes=st.integers(0, 5 * 365 * 24 * 60),
    microseconds=st.sampled_from([0, 1, 59_999_999]),
    zone=st.sampled_from(["Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "UTC"]),
    line=st.sampled_from(["0 0 * * *", "0 0 * * 1", "0 0 1 * *", "30 2 * * *", "*/15 9-17 * * *"]),
)
def test_every_moment_lies_in_exactly_one_season(minutes, microseconds, zone, line):
    zone = ZoneInfo(zone)
    moment = utc(2025, 1, 1) + timedelta(minutes=minutes, microseconds=microseconds)
    begin, end = last_boundary(line, zone, moment), next_boundary(line, zone, moment)
    assert begin <= moment < end
    assert next_boundary(line, zone, begin) == end
    assert last_boundary(line, zone, end) == end
