"""At a million rows every history query is answered by an index. On PostgreSQL and on SQLite."""

import importlib
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.log import rebuild
from leaderboard.models import Board, FinalStanding, ScoreEvent, Season
from leaderboard.notices import delivery
from leaderboard.seasons.pointer import OPEN, Pointer, microseconds
from leaderboard.worker import clock

# The package has a function of the same name.
history = importlib.import_module("leaderboard.seasons.history")

pytestmark = [pytest.mark.faults, pytest.mark.django_db, pytest.mark.timeout(300)]

MONTH = timedelta(days=30)
SEASONS, PLAYERS = 20, 50_000  # a million standings, and a million events
LARGE = ("leaderboard_scoreevent", "leaderboard_finalstanding")


@pytest.fixture
def board():
    # Looked for: scores that are kept no longer. Found: none.
    board = Board.objects.create(slug="large", name="Large", history_days=9999, windows=["day"])
    now = timezone.now()
    for number in range(1, SEASONS + 1):
        opens = now - (SEASONS - number + 1) * MONTH + timedelta(days=5)
        closed_at = opens + MONTH if number < SEASONS else None
        Season.objects.create(
            board=board,
            number=number,
            name=f"Season {number}",
            state="closed" if closed_at else "open",
            opens=opens,
            closed_at=closed_at,
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
            "SELECT %s, s.number, (s.number - 1) * %s + i, s.number || '-' || i, "
            "%s + (s.number - 1) * %s + i, 'score', "
            "'player-' || (i %% 1000), i, 'best', i, '', '' "
            f"FROM leaderboard_season s, {numbers}",
            [
                board.pk,
                PLAYERS,
                microseconds(now - SEASONS * MONTH + timedelta(days=5)),
                MONTH // timedelta(microseconds=1),
                PLAYERS,
            ],
        )
        cursor.execute("ANALYZE")
    return board


NUMBERS = (
    "(WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < %s) "
    "SELECT i FROM t) AS t"
)


def whole_reads(sql):
    """The steps of a query's plan that go through a whole large table or a whole index of it."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
            return list(_whole_reads(cursor.fetchone()[0][0]["Plan"], limited=False))
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        steps = [row[-1] for row in cursor.fetchall()]
    # A plan names a table by its alias where the query gives it one.
    names = [
        alias or table
        for table in LARGE
        for alias in re.findall(rf'"{table}"(?: ([A-Z]\d+)\b)?', sql)
    ]
    # SCAN is all of it, even of an index; SEARCH is a part.
    return [step for step in steps if any(step.startswith(f"SCAN {name}") for name in names)]


def _whole_reads(step, *, limited):
    """Reading in the order of an index is no harm where the step above takes only the first."""
    kind = step["Node Type"]
    by_index = kind in {"Index Scan", "Index Only Scan"} and ("Index Cond" in step or limited)
    if step.get("Relation Name") in LARGE and not by_index and kind not in THROUGH_OTHERS:
        yield f"{kind} on {step['Relation Name']}"
    if kind == "Bitmap Index Scan" and "Index Cond" not in step:
        yield f"{kind} of {step['Index Name']}"
    for below in step.get("Plans", ()):
        yield from _whole_reads(below, limited=kind == "Limit")


# Their rows come from the steps below them.
THROUGH_OTHERS = {"Bitmap Heap Scan", "ModifyTable"}


def test_every_history_query_uses_an_index(board):
    season = Season.objects.get(board=board, number=7)
    build = rebuild.Build(board, Pointer(SEASONS, OPEN, 0, None))
    asked = {
        "the list of seasons": lambda: history._load_seasons(board),
        "the first page": lambda: history._load_page(season, 1, 50, ""),
        "a late page": lambda: history._load_page(season, 900, 50, ""),
        "a search": lambda: history._load_page(season, 1, 50, "Player 4711"),
        "an export": lambda: list(history.season_standings(season).iterator()),
        "a player's seasons": lambda: history.player_seasons("player-17", board),
        "a player's seasons on all boards": lambda: history.player_seasons("player-17"),
        "a player's history": lambda: history.history(board, "player-17"),
        "a player's history in a season": lambda: history.history(board, "player-17", season=7),
        "who is not named": lambda: history.masked_players(season),
        "who is told of a season's end": lambda: delivery.season_ended(season),
        "scores that are kept no longer": lambda: clock.forget_old_events(board),
        "a rebuild": build.replay,
        "what came during a rebuild": build.replay,
        "an archive that is written again": lambda: season.standings.all().delete(),
    }
    bad = []
    for what, ask in asked.items():
        with CaptureQueriesContext(connection) as captured:
            ask()
        asked_large = [one for one in captured if any(table in one["sql"] for table in LARGE)]
        assert asked_large, what
        for query in asked_large:
            bad += [f"{what}: {step}" for step in whole_reads(query["sql"])]
    assert not bad


def test_a_whole_read_is_noticed(board):
    """Else the test above would show nothing."""
    winners = FinalStanding.objects.filter(rank=1).values("season")
    for ask in (
        lambda: list(FinalStanding.objects.filter(name="Player 5").order_by()),
        lambda: list(Season.objects.filter(pk__in=winners)),
        lambda: list(ScoreEvent.objects.filter(at=5).order_by()),
        lambda: FinalStanding.objects.filter(rank__gt=5).count(),
    ):
        with CaptureQueriesContext(connection) as captured:
            ask()
        (query,) = captured
        assert whole_reads(query["sql"]), query["sql"]
