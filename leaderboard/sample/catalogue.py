"""The sample boards: description, rules, and how players score."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class SampleBoard:
    """`draw` returns one submitted value, from chance and a player's skill (0 to 1)."""

    slug: str
    values: Mapping[str, Any]
    draw: Callable[[random.Random, float], float]
    attempts: int  # how often a keen player submits in a season
    past_seasons: int
    days: int = 30  # of one season, on boards without a schedule
    season_names: tuple[str, ...] = field(default=())


def _arcade(chance: random.Random, skill: float) -> float:
    return float(round(chance.lognormvariate(8.2 + 2.2 * skill, 0.45)) * 10)


def _deal(chance: random.Random, skill: float) -> float:
    return round(chance.lognormvariate(5.6 + 1.6 * skill, 0.7), 2)


def _run(chance: random.Random, skill: float) -> float:
    """Seconds: the best are close to a limit that nobody beats."""
    return round(1462.0 + chance.gammavariate(2.0, 60 + 420 * (1 - skill)), 3)


def _jury(chance: random.Random, skill: float) -> float:
    return float(min(100, max(0, round(chance.gauss(38 + 55 * skill, 8) / 5) * 5)))


def _quiz(chance: random.Random, skill: float) -> float:
    return float(sum(chance.random() < 0.35 + 0.6 * skill for _ in range(20)))


CATALOGUE: tuple[SampleBoard, ...] = (
    SampleBoard(
        slug="neon-drift",
        values={
            "name": "Neon Drift",
            "description": "Arcade racing through a city at night. Your best run of the "
            "month counts; between equal scores, the first to reach it ranks "
            "higher.",
            "operator": "best",
            "windows": ["day", "week"],
            "schedule": "monthly",
            "highest_score": 10_000_000,
            "lowest_score": 0,
            "unit": "pts",
        },
        draw=_arcade,
        attempts=6,
        past_seasons=5,
    ),
    SampleBoard(
        slug="sales-floor",
        values={
            "name": "Sales Floor",
            "description": "Every signed deal adds to the week. A new week begins on Monday at "
            "midnight in Berlin.",
            "operator": "sum",
            "windows": ["day", "month"],
            "time_zone": "Europe/Berlin",
            "schedule": "weekly",
            "score_format": "decimals",
            "score_decimals": 2,
            "unit": "€",
        },
        draw=_deal,
        attempts=8,
        past_seasons=6,
    ),
    SampleBoard(
        slug="crystal-caves",
        values={
            "name": "Crystal Caves any%",
            "description": "Speed runs from the first key press to the last crystal. The fastest "
            "time is on top.",
            "order": "asc",
            "operator": "best",
            "windows": ["week", "all"],
            "schedule": "monthly",
            "lowest_score": 0,
            "score_format": "duration",
            "score_decimals": 3,
        },
        draw=_run,
        attempts=5,
        past_seasons=4,
    ),
    SampleBoard(
        slug="harbour-hackathon",
        values={
            "name": "Harbour Hackathon",
            "description": "The jury's marks, from 0 to 100. Between equal marks, fewer "
            "hours spent decide; players equal in both share a place: 1, 2, "
            "2, 4.",
            "operator": "set",
            "ranking": "competition",
            "subscore_order": "asc",
            "lowest_score": 0,
            "highest_score": 100,
            "unit": "marks",
        },
        draw=_jury,
        attempts=2,
        past_seasons=3,
        days=14,
        season_names=("Autumn edition", "Winter edition", "Spring edition", "Summer edition"),
    ),
    SampleBoard(
        slug="campus-quiz",
        values={
            "name": "Campus Quiz",
            "description": "Twenty questions at lunch time, a new season every day. Equal scores "
            "share a place and no place is skipped.",
            "operator": "best",
            "ranking": "dense",
            "windows": ["week", "all"],
            "time_zone": "America/New_York",
            "schedule": "daily",
            "lowest_score": 0,
            "highest_score": 20,
            "unit": "right",
        },
        draw=_quiz,
        attempts=3,
        past_seasons=7,
    ),
)


def sample_boards(count: int) -> list[SampleBoard]:
    """The first `count` boards; beyond the catalogue they repeat with a number."""
    return [
        _numbered(CATALOGUE[index % len(CATALOGUE)], index // len(CATALOGUE) + 1)
        for index in range(count)
    ]


def sample_named(slug: str) -> SampleBoard | None:
    """The sample board with this slug, with or without a number."""
    for sample in CATALOGUE:
        found = re.fullmatch(rf"{sample.slug}(?:-([2-9]|[1-9]\d+))?", slug)
        if found:
            return _numbered(sample, int(found[1] or 1))
    return None


def _numbered(sample: SampleBoard, number: int) -> SampleBoard:
    if number == 1:
        return sample
    values = {**sample.values, "name": f"{sample.values['name']} {number}"}
    return replace(sample, slug=f"{sample.slug}-{number}", values=values)
