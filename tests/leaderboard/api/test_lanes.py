"""The lane before Django and Django by itself answer the same requests alike."""

import gzip
import json

import pytest
from django.test import Client

from tests.leaderboard.api.support import Api, make_key
from tests.leaderboard.support import open_board, submit

pytestmark = pytest.mark.django_db
SHOWN = (
    "content-type",
    "content-encoding",
    "content-length",
    "cache-control",
    "etag",
    "allow",
    "retry-after",
    "ratelimit-policy",
)


@pytest.fixture
def board(db):
    board = open_board(windows=["day"], groups=["country"])
    for number in range(30):
        submit(board, f"player-{number:02}", number, details={"country": "DE"})
    return board


class Lane:
    def __init__(self, token):
        self.api = Api(token)

    def __call__(self, method, path, body=None, **headers):
        headers.setdefault("Accept-Encoding", "identity")
        return self.api.call(method, path, body=body, headers=headers)


class Alone:
    """Django without the lane, as under WSGI."""

    def __init__(self, token):
        self.authorization = f"Bearer {token}"

    def __call__(self, method, path, body=None, **headers):
        headers.setdefault("Accept-Encoding", "identity")
        headers.setdefault("Authorization", self.authorization)
        kind = headers.pop("Content-Type", "application/json" if body else "")
        return Client().generic(
            method, f"/api/v1/{path}", body or b"", content_type=kind, headers=headers
        )


@pytest.fixture
def both(token):
    return Lane(token), Alone(token)


def seen(answer):
    headers = {name: answer.headers[name] for name in SHOWN if name in answer.headers}
    body = answer.content
    if body and headers.get("content-type", "").endswith("json") and len(body) < 100_000:
        body = json.loads(body)
    return answer.status_code, headers, body


JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ROW = b'{"player": "ada", "score": "x"}'
REQUESTS = [
    ("GET", "boards/cup/entries?limit=3", None, {}),
    ("HEAD", "boards/cup/entries?limit=3", None, {}),
    ("GET", "boards/cup/entries?limits=3", None, {}),
    ("GET", "boards/cup/entries?limit=0", None, {}),
    ("GET", "boards/cup/entries?window=season&period=2026-11-16", None, {}),
    ("GET", "boards/cup/entries?window=month", None, {}),
    ("GET", "boards/cup/entries?offset=500", None, {}),
    ("GET", "boards/cup/entries/around/player-07?count=5", None, {}),
    ("GET", "boards/cup/players/player-07", None, {}),
    ("HEAD", "boards/cup/players/player-07", None, {}),
    ("GET", "boards/cup/players/nobody", None, {}),
    ("GET", "boards/none/players/nobody", None, {}),
    ("GET", "boards/cup/entries", None, {"Authorization": "Bearer rk_wrong"}),
    ("POST", "boards/cup/scores", ROW, JSON),
    ("POST", "boards/cup/scores", b'{"player": "ada"', JSON),
    ("POST", "boards/cup/scores", b"player=ada&score=1", FORM),
    ("POST", "boards/cup/scores", b"x", JSON | {"Content-Encoding": "gzip"}),
    ("POST", "boards/cup/scores?dry=1", ROW, JSON),
    ("POST", "boards/cup/scores/bulk?report=some", b"[]", JSON),
    ("POST", "boards/cup/scores/bulk?atomic=yes", b"[]", JSON),
    ("POST", "boards/cup/scores/bulk", b"[]", JSON),
    ("POST", "boards/cup/scores/bulk?report=errors", b"[" + ROW + b"]", JSON),
    ("DELETE", "boards/cup/scores", None, {}),
    ("DELETE", "boards/cup/entries", None, {}),
]


@pytest.mark.parametrize(("method", "path", "body", "headers"), REQUESTS)
def test_both_answer_alike(board, both, method, path, body, headers):
    lane, alone = (seen(ask(method, path, body, **headers)) for ask in both)
    assert lane == alone
    assert lane[0] < 500


@pytest.mark.parametrize("path", ["entries?limit=30", "seasons", "entries/range", "nothing"])
def test_head_is_get_without_the_body(board, both, path):
    for ask in both:
        whole, head = ask("GET", f"boards/cup/{path}"), ask("HEAD", f"boards/cup/{path}")
        assert head.content == b""
        assert head.status_code == whole.status_code
        for name in ("content-type", "etag", "content-length"):
            assert head.headers.get(name) == whole.headers.get(name), name


@pytest.mark.parametrize("path", ["", "/distribution", "/presence", "/seasons", "/nearby"])
def test_unknown_parameters_are_refused_everywhere(board, both, path):
    for ask in both:
        answer = ask("GET", f"boards/cup{path}?verbose=1")
        assert answer.status_code == 422, answer.content
        assert json.loads(answer.content)["code"] in ("unknown_field", "missing_field")


@pytest.mark.parametrize("headers", [FORM, {"Content-Encoding": "gzip"}])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "scores"),
        ("POST", "scores/bulk"),
        ("POST", "entries/among"),
        ("POST", "seasons/close"),
        ("PATCH", "players/player-01"),
        ("PUT", "players/player-01/location"),
    ],
)
def test_only_plain_json_is_taken(board, both, method, path, headers):
    for ask in both:
        answer = ask(method, f"boards/cup/{path}", b"a=1", **headers)
        assert answer.status_code == 415, answer.content
        assert json.loads(answer.content)["code"] in (
            "unsupported_media_type",
            "unsupported_encoding",
        )


def test_large_answers_are_compressed_whatever_they_answer(board, both):
    rows = json.dumps([{"player": f"new-{number}", "score": 1} for number in range(20)]).encode()
    bad = json.dumps([{"player": f"new-{number}"} for number in range(20)]).encode()
    for ask in both:
        for method, path, body in (
            ("GET", "entries?limit=30", None),
            ("GET", "entries/range", None),
            ("POST", "scores/bulk", rows),
            ("POST", "scores/bulk?atomic=true", bad),
        ):
            headers = {"Accept-Encoding": "gzip"} | (JSON if body else {})
            answer = ask(method, f"boards/cup/{path}", body, **headers)
            assert answer.headers["content-encoding"] == "gzip", path
            assert "Accept-Encoding" in answer.headers["vary"]
            if isinstance(ask, Alone):
                answer = json.loads(gzip.decompress(answer.content))
            else:
                answer = answer.json()
            assert answer


def test_a_call_is_charged_once(board):
    for kind in (Lane, Alone):
        ask = kind(make_key("read", "submit", rate="10/hour, fixed window"))
        for left in (9, 8):
            body = b'{"player": "ada", "score": 1}'
            answer = ask("POST", "boards/cup/scores", body, **JSON)
            assert f"r={left};" in answer.headers["ratelimit"], kind
        assert "r=7;" in ask("GET", "boards/cup/entries").headers["ratelimit"]
        assert "r=6;" in ask("GET", "boards/cup/entries/range").headers["ratelimit"]


def test_a_bulk_report_of_errors_leaves_out_what_was_accepted(board, both):
    rows = b'[{"player": "ada", "score": 1}, {"player": "lin"}, {"player": "kai", "score": 2}]'
    for ask in both:
        answer = ask("POST", "boards/cup/scores/bulk?report=errors", rows, **JSON)
        found = json.loads(answer.content)
        assert (found["accepted"], found["refused"]) == (2, 1)
        (only,) = found["results"]
        assert only["error"]["field"] == "1.score"
