"""Idempotency keys give nothing to whoever may not ask, and names of boards are checked first."""

from contextlib import contextmanager

import pytest

from leaderboard.api.callers import keyring
from leaderboard.models import ApiKey
from tests.leaderboard.api.support import Api, make_key
from tests.leaderboard.api.test_access import WRITES
from tests.leaderboard.commands import refused
from tests.leaderboard.support import open_board, submit

pytestmark = pytest.mark.django_db
NAMES = ["no-such", "Cup", "a}b", "%7Ba%7D", "a%0Ab", "%ED%A0%80", "%FF", "%00", "x" * 3000, "cup-"]
NAMES_IN_COMMANDS = ["Cup", "a}b", "\udcff", "\0", "x" * 3000, ""]


@contextmanager
def everything_in_the_slow_log(redis_client):
    redis_client.slowlog_reset()
    redis_client.config_set("slowlog-log-slower-than", "0")
    try:
        yield
    finally:
        redis_client.config_set("slowlog-log-slower-than", "10000")


@pytest.fixture
def board(db):
    board = open_board(visibility="private")
    submit(board, "ada", 1)
    return board


@pytest.mark.parametrize(("method", "path", "body"), [write[:3] for write in WRITES])
def test_a_key_that_lost_the_board_gets_no_stored_answer(board, method, path, body):
    token = make_key("submit", "moderate", "admin", all_boards=False, boards=[board])
    headers = {"Idempotency-Key": "one"}

    def ask():
        return Api(token).call(method, path.format("cup"), json=body, headers=headers)

    assert ask().status_code == 200
    ApiKey.objects.get().boards.clear()
    keyring.forget()
    refusal = ask()
    assert (refusal.status_code, refusal.json()["code"]) == (404, "board_not_found")


def test_a_row_of_a_bulk_and_a_single_score_never_share_a_key(board):
    api = Api(make_key("submit"))
    row = {"player": "ada", "score": 10, "operator": "sum"}

    def send(path, body, key):
        return api.call("POST", path, json=body, headers={"Idempotency-Key": key})

    for single, bulk in (("B2:0", "B2"), ("B3 0", "B3"), ("B4:0:0", "B4:0")):
        before = board.engine().get_user_entry("ada")["score"]
        send("boards/cup/scores", row, single.replace(" ", "_"))
        answer = send("boards/cup/scores/bulk", [row], bulk)
        assert "idempotency-replayed" not in answer.headers
        assert board.engine().get_user_entry("ada")["score"] == before + 20


@pytest.mark.one_server
@pytest.mark.parametrize(("method", "path", "body"), [write[:3] for write in WRITES])
def test_a_name_that_no_board_can_have_never_reaches_redis(db, redis_client, method, path, body):
    api = Api(make_key("submit", "moderate", "admin"))
    headers = {"Idempotency-Key": "one"}
    with everything_in_the_slow_log(redis_client):
        answers = [
            api.call(method, path.format(name), json=body, headers=headers) for name in NAMES
        ]
    assert {answer.status_code for answer in answers} <= {404, 422}
    assert not [one for one in redis_client.slowlog_get(100) if b"leaderboard:" in one["command"]]


@pytest.mark.one_server
@pytest.mark.parametrize("name", NAMES)
def test_a_page_or_stream_with_such_a_name_is_not_found(db, client, redis_client, name):
    with everything_in_the_slow_log(redis_client):
        for address in ("/boards/{}/", "/boards/{}/seasons/", "/live/boards/{}/"):
            assert client.get(address.format(name)).status_code in {404, 422}
        for path in ("boards/{}", "boards/{}/live", "boards/{}/entries"):
            assert Api().get(path.format(name)).status_code in {404, 422}
    assert not [one for one in redis_client.slowlog_get(100) if b"leaderboard:" in one["command"]]


@pytest.mark.parametrize("name", NAMES_IN_COMMANDS)
@pytest.mark.parametrize(
    "command",
    [["export"], ["rebuild"], ["season", "list"], ["season", "close"], ["simulate", "--board"]],
)
def test_commands_say_in_one_line_that_there_is_no_such_board(board, command, name):
    if not name and command in (["season", "list"], ["simulate", "--board"]):
        pytest.skip("without a name it is about all boards")
    assert "There is no board" in refused(*command, name)


def test_a_key_used_for_another_kind_of_write_is_refused_and_nobody_else(board):
    api = Api(make_key("submit"))
    used = {"Idempotency-Key": "one"}
    details = {"details": {"name": "Ada"}}
    patched = api.call("PATCH", "boards/cup/players/ada", json=details, headers=used)
    assert patched.status_code == 200

    def score(player, headers=None):
        return ("POST", "boards/cup/scores", {"player": player, "score": 5}, None, headers)

    before, mixed_up, after = api.together([score("bob"), score("ada", used), score("eve")])
    assert (before.status_code, after.status_code) == (200, 200)
    bulk = api.call(
        "POST", "boards/cup/scores/bulk", json=[{"player": "ada", "score": 5}], headers=used
    )
    for answer in (mixed_up, bulk):
        assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")
    assert board.engine().get_user_entry("ada")["score"] == 1
