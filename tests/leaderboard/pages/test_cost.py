"""What a board's page costs: round trips to Redis and queries to SQL, whatever its size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis.connection import AbstractConnection

from leaderboard.boards.scores import submit_scores
from leaderboard.engine import Submission
from tests.leaderboard.pages.conftest import make_board, make_player
from tests.servers import ON_CLUSTER

# On a cluster a pipeline goes to its nodes at once, in a piece for each.
MOST = 4 if ON_CLUSTER else 3


@contextmanager
def round_trips(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Everything sent to Redis: a pipeline is sent as one, and so is a command."""
    sent: list[bytes] = []
    send = AbstractConnection.send_packed_command

    def counting(self: AbstractConnection, command: Any, check_health: bool = True) -> None:
        sent.append(bytes(command[0] if isinstance(command, list) else command)[:80])
        send(self, command, check_health)

    with monkeypatch.context() as patch:
        patch.setattr(AbstractConnection, "send_packed_command", counting)
        yield sent


@pytest.mark.parametrize("signed_in", [False, True])
@pytest.mark.parametrize(
    ("size", "query"), [(0, ""), (400, ""), (400, "?window=day"), (400, "?page=2")]
)
@pytest.mark.parametrize("groups", [[], ["country", "team"]])
def test_a_board_costs_three_round_trips_and_three_queries(
    client: Client,
    db: None,
    groups: list[str],
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    signed_in: bool,
    query: str,
) -> None:
    board = make_board(windows=["day", "week"], groups=groups)
    if signed_in:
        client.force_login(make_player("p3"))
    if size:
        rows = [
            Submission(f"p{n}", n, metadata={"name": f"P {n}", "team": f"T {n}"})
            for n in range(size)
        ]
        submit_scores(board=board, rows=rows)
    path = f"/boards/cup/{query}"
    # What a running process knows: its connections, its scripts, the season.
    client.get(path)
    with round_trips(monkeypatch) as sent, CaptureQueriesContext(connection) as queries:
        assert client.get(path).status_code == 200
    assert len(sent) <= MOST, sent
    assert len(queries) <= MOST, [one["sql"] for one in queries]
