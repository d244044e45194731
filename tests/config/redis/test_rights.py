"""With the rights that docs/deploying.md lists, a user of Redis can do all that Rostrum does."""

import re
from pathlib import Path

import pytest
from redis.exceptions import NoPermissionError

from config.redis import functions, locks, versions
from leaderboard import RedisLeaderboard
from ratelimit.limiter import Limiter
from ratelimit.sentence import parse
from sessions_app.ops.server import _slow_log
from tests.servers import redis_server

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "deploying.md").read_text()


@pytest.fixture
def client():
    words = re.search(r"^ACL SETUSER rostrum (.+?)^```", PAGE, re.MULTILINE | re.DOTALL)[1].split()
    with redis_server() as server, server.client() as admin:
        admin.execute_command("ACL SETUSER", "rostrum", *words)
        with server.client(username="rostrum", password="secret") as client:
            yield client


def test_it_loads_and_calls_functions_and_tidies_up(client):
    functions.load_all(client)
    versions.note_use(client)
    assert versions.delete_unused(client) == []


def test_boards_limits_and_locks_work(client):
    board = RedisLeaderboard(
        client,
        "leaderboard:{rights}",
        10,
        ties="earliest",
        ranking="dense",
        subscore="desc",
        groups=("country",),
        windows=("day", "all"),
        events=True,
        notices=True,
    )
    board.submit("ada", 5, subscore=1, metadata={"country": "GB"}, idempotency_key="one")
    board.submit_many([{"user_id": f"p{n}", "score": n} for n in range(20)])
    assert board.get_rank("p19") == 1
    assert board.window("day").get_top(3) == board.get_top(3)
    assert board.union([board.window("day")]).get_size() == 10
    board.hide("ada")
    board.clear()
    assert Limiter(client).hit(parse("test", "5/minute by ip"), "ada").allowed
    with locks.hold("rights", client=client) as held:
        assert held.fence == 1


def test_the_page_of_figures_reads_the_slow_log(client):
    assert client.info("memory")
    assert client.config_get("save")
    assert list(_slow_log(client)) == []


@pytest.mark.parametrize("words", ["FLUSHALL", "KEYS *", "CONFIG SET save ''", "SHUTDOWN"])
def test_it_can_do_no_harm_beyond_that(client, words):
    with pytest.raises(NoPermissionError):
        client.execute_command(*words.split())
