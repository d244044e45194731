"""At a million rows every history query is answered by an index. On PostgreSQL and on SQLite."""

import importlib

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard import clock, notices
from leaderboard.models import Board, ScoreEvent, Season

# The package has a function of the same name.
history = importlib.import_module("leaderboard.selectors.history")

pytestmark = [pytest.mark.faults, pytest.mark.django_db, pytest.mark.timeout(300)]

SEASONS, PLAYERS = 20, 50_000  # a million standings, and a million events
LARGE = ("leaderboard_scoreevent", "leaderboard_finalstanding")


@pytest.fixture
def board():
    # No season is older than its history: what is to be forgotten is looked for and not found.
    board = Board.objects.create(slug="large", name="Large", history_days=1)
    now = timezone.now()
    for number in range(1, SEASONS + 1):
        Season.objects.create(
            board=board,
            number=number,
            name=f"Season {number}",
            state="closed",
            opens=now,
            closed_at=now,
            entries=PLAYERS,
        )
    numbers = "generate_series(1, %s) AS t(i)" if connection.vendor == "postgresql" else NUMBERS
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO leaderboard_finalstanding "
            "(season_id, position, rank, player_id, name, score, details) "
            "SELECT s.id, i, i, 'player-' || i, 'Player ' || i, 1000000 - i, '{}' "
            f"FROM leaderboard_season s, {numbers}",
            [PLAYERS],
        )
        cursor.execute(
            "INSERT INTO leaderboard_scoreevent (board_id, season, sequence, stream_id, at, op, "
            "player_id, value, operator, score, source, idempotency_key) "
            "SELECT %s, s.number, (s.number - 1) * 50000 + i, s.number || '-' || i, i, 'score', "
            "'player-' || (i %% 1000), i, 'best', i, '', '' "
            f"FROM leaderboard_season s, {numbers}",
            [board.pk, PLAYERS],
        )
        cursor.execute("ANALYZE")
    return board


NUMBERS = (
    "(WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < %s) "
    "SELECT i FROM t) AS t"
)


def plan(sql):
    word = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        cursor.execute(f"{word} {sql}")
        return [str(row[-1]) for row in cursor.fetchall()]


def reads_everything(step):
    """Whether a step of a plan goes through a whole large table."""
    if connection.vendor == "postgresql":
        return any(f"Seq Scan on {table}" in step for table in LARGE)
    return any(step.startswith(f"SCAN {table}") and "USING" not in step for table in LARGE)


def test_every_history_query_uses_an_index(board):
    season = Season.objects.get(board=board, number=7)
    asked = {
        "the list of seasons": lambda: history._load_seasons(board),
        "the first page": lambda: history._load_page(season, 1, 50, ""),
        "a late page": lambda: history._load_page(season, 900, 50, ""),
        "a search": lambda: history._load_page(season, 1, 50, "Player 4711"),
        "a player's seasons": lambda: history.player_seasons("player-17", board),
        "a player's seasons on all boards": lambda: history.player_seasons("player-17"),
        "a player's history": lambda: history.history(board, "player-17"),
        "a player's history in a season": lambda: history.history(board, "player-17", season=7),
        "who is not named": lambda: history.masked_players(season),
        "who is told of a season's end": lambda: notices.season_ended(season),
        "scores that are kept no longer": lambda: clock.forget_old_events(board),
        "the rebuild of a season": lambda: rebuild_reads(board),
    }
    bad = []
    for what, ask in asked.items():
        with CaptureQueriesContext(connection) as captured:
            ask()
        asked_large = [one for one in captured if any(table in one["sql"] for table in LARGE)]
        assert asked_large, what
        for query in asked_large:
            bad += [f"{what}: {step}" for step in plan(query["sql"]) if reads_everything(step)]
    assert not bad


def rebuild_reads(board):
    list(ScoreEvent.objects.filter(board=board, season=20).order_by("sequence")[:100])
