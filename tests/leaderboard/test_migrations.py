"""What migrations do to rows that older releases wrote."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps

from leaderboard.models import Board, Season
from tests.leaderboard.support import utc

pytestmark = pytest.mark.django_db

season_titles = import_module("leaderboard.migrations.0008_season_titles")


@pytest.mark.parametrize(
    ("name", "period"),
    [
        ("16 November 2026", "2026-11-16"),
        ("Week 47, 2026", "2026-W47"),
        ("Week 47, 2026, season 4", "2026-W47 4"),
        ("November 2026", "2026-11"),
        ("Season 4", ""),
    ],
)
def test_names_that_seasons_gave_themselves_become_periods(name: str, period: str) -> None:
    board = Board.objects.create(slug="cup", name="Cup", time_zone="Europe/Berlin")
    season = Season.objects.create(board=board, number=4, name=name, opens=utc("2026-11-15T23:00"))
    season_titles.blank_generated_names(apps, None)
    season.refresh_from_db()
    assert (season.name, season.period) == ("", period)
    assert season.title == name.replace(", season", ", Season")
    season_titles.write_generated_names(apps, None)
    season.refresh_from_db()
    assert season.name == name


@pytest.mark.parametrize(
    "name",
    ["Finals", "Season 5", "Week 46, 2026", "Season 4, season 4", "May 2026"],
)
def test_names_that_somebody_gave_stay(name: str) -> None:
    board = Board.objects.create(slug="cup", name="Cup", time_zone="Europe/Berlin")
    season = Season.objects.create(board=board, number=4, name=name, opens=utc("2026-11-15T23:00"))
    season_titles.blank_generated_names(apps, None)
    season.refresh_from_db()
    assert (season.name, season.period, season.title) == (name, "", name)
