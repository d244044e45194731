"""Seasons end at the board's own midnight, through summer and winter."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.models.schedule import cron_line, last_boundary, next_boundary, validate_cron

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
    ("line", "zone", "moment", "expected"),
    [
        ("30 1 * * *", "Europe/Dublin", utc(2026, 10, 25, 1, 25), utc(2026, 10, 26, 1, 30)),
        ("30 2 * * *", "Europe/Berlin", utc(2026, 10, 25, 1, 5), utc(2026, 10, 26, 1, 30)),
        ("15 0-3 * * *", "Asia/Jerusalem", utc(2026, 10, 24, 23, 10), utc(2026, 10, 25, 0, 15)),
        ("59 23 * * *", "Africa/Cairo", utc(2026, 10, 29, 21, 28), utc(2026, 10, 30, 21, 59)),
    ],
)
def test_in_an_hour_that_comes_twice_a_season_never_ends_in_the_past(line, zone, moment, expected):
    assert next_boundary(line, ZoneInfo(zone), moment) == expected


def test_a_day_that_a_zone_left_out_has_no_season():
    apia = ZoneInfo("Pacific/Apia")  # 30 December 2011 never came
    assert next_boundary(cron_line("daily"), apia, utc(2011, 12, 29, 12)) == utc(2011, 12, 30, 10)
    assert next_boundary(cron_line("daily"), apia, utc(2011, 12, 30, 10)) == utc(2011, 12, 31, 10)


@pytest.mark.parametrize(
    "line", ["", "x", "60 0 * * *", "* * * *", "0 0 30 2 *", "@daily", "*/0 * * * *", "0 0 * * * *"]
)
def test_a_line_that_never_comes_or_has_not_five_parts_is_refused(line):
    with pytest.raises(ValidationError, match="is not a cron line"):
        validate_cron(line)


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
    moment = utc(2025, 1, 1) + timedelta(minutes=minutes, microseconds=microseconds)
    lies_in_one_season(line, ZoneInfo(zone), moment)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    minutes=st.integers(-240, 240),
    change=st.sampled_from(
        [
            ("Europe/Berlin", utc(2026, 3, 29, 1)),
            ("Europe/Berlin", utc(2026, 10, 25, 1)),
            ("America/Havana", utc(2026, 11, 1, 5)),
            ("Africa/Cairo", utc(2026, 10, 29, 21)),
            ("Australia/Lord_Howe", utc(2026, 4, 4, 15)),
            ("Antarctica/Troll", utc(2026, 10, 25, 1)),
        ]
    ),
    line=st.sampled_from(["0 0 * * *", "30 0 * * *", "30 2 * * *", "15 0-3 * * *", "*/20 * * * *"]),
)
def test_so_does_every_moment_around_a_change_of_the_clock(minutes, change, line):
    zone, at = change
    lies_in_one_season(line, ZoneInfo(zone), at + timedelta(minutes=minutes))


def lies_in_one_season(line, zone, moment):
    begin, end = last_boundary(line, zone, moment), next_boundary(line, zone, moment)
    assert begin <= moment < end
    assert next_boundary(line, zone, begin) == end
    assert last_boundary(line, zone, end) == end
