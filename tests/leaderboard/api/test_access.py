"""Who may do what: every address with the right key, the wrong one and none."""

from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.api import callers
from leaderboard.api.callers import Keyring
from leaderboard.models import ApiKey, AuditEntry
from tests.leaderboard.api.support import Api, make_key
from tests.leaderboard.support import open_board, submit

READS = [
    ("GET", "boards/{}", None),
    ("GET", "boards/{}/entries", None),
    ("GET", "boards/{}/entries/around/ada", None),
    ("GET", "boards/{}/entries/around-rank/1", None),
    ("GET", "boards/{}/entries/range", None),
    ("POST", "boards/{}/entries/among", {"players": ["ada"]}),
    ("GET", "boards/{}/distribution", None),
    ("GET", "boards/{}/groups/country/DE/entries", None),
    ("GET", "boards/{}/players/ada", None),
    ("GET", "boards/{}/players/ada/history", None),
    ("GET", "boards/{}/seasons", None),
    ("GET", "boards/{}/presence", None),
]
WRITES = [
    ("POST", "boards/{}/scores", {"player": "ada", "score": 2}, "submit"),
    ("POST", "boards/{}/scores/bulk", [{"player": "ada", "score": 3}], "submit"),
    ("PATCH", "boards/{}/players/ada", {"details": {"name": "Ada"}}, "submit"),
    ("DELETE", "boards/{}/players/ada/location", None, "submit"),
    ("DELETE", "boards/{}/players/ada", None, "moderate"),
    ("POST", "boards/{}/reset", None, "admin"),
    ("POST", "boards/{}/seasons/close", {}, "admin"),
]
SCOPES = {"read", "submit", "moderate", "admin"}


@pytest.fixture
def boards(db):
    made = {}
    for kind in ("public", "unlisted", "private"):
        made[kind] = open_board(kind, visibility=kind, groups=["country"])
        submit(made[kind], "ada", 1, details={"country": "DE"})
    return made


def ask(token, method, path, body, slug):
    return Api(token).call(method, path.format(slug), json=body)


def refusal(answer):
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


@pytest.mark.parametrize(("method", "path", "body"), READS)
def test_reading(boards, method, path, body):
    reader, other = make_key("read"), make_key("read", all_boards=False)
    blind = make_key("submit")
    own = make_key("read", all_boards=False, boards=[boards["private"]])
    for slug in ("public", "unlisted"):
        for token in (None, reader, other, blind):
            assert ask(token, method, path, body, slug).status_code == 200
    for token in (reader, own):
        assert ask(token, method, path, body, "private").status_code == 200
    for token in (None, other):
        assert refusal(ask(token, method, path, body, "private")) == (404, "board_not_found")
    assert refusal(ask(blind, method, path, body, "private")) == (403, "scope_missing")
    assert refusal(ask(reader, method, path, body, "none")) == (404, "board_not_found")
    assert refusal(ask("rk_wrong", method, path, body, "public")) == (401, "key_unknown")


@pytest.mark.parametrize(("method", "path", "body", "scope"), WRITES)
def test_writing(boards, method, path, body, scope):
    assert refusal(ask(None, method, path, body, "public")) == (401, "key_required")
    wrong = make_key(*(SCOPES - {scope}))
    assert refusal(ask(wrong, method, path, body, "public")) == (403, "scope_missing")
    other = make_key(scope, all_boards=False, boards=[boards["unlisted"]])
    assert refusal(ask(other, method, path, body, "public")) == (403, "board_not_allowed")
    assert refusal(ask(other, method, path, body, "private")) == (404, "board_not_found")
    right = make_key(scope)
    for slug in ("public", "private"):
        answer = ask(right, method, path, body, slug)
        assert answer.status_code == 200, answer.text
    assert refusal(ask(right, method, path, body, "none")) == (404, "board_not_found")


def test_lists_show_what_the_key_is_for(boards):
    def listed(token):
        return {one["slug"] for one in Api(token).get("boards").json()["boards"]}

    assert listed(None) == {"public"}
    assert listed(make_key("read")) == {"public", "unlisted", "private"}
    own = make_key("read", all_boards=False, boards=[boards["private"]])
    assert listed(own) == {"public", "private"}
    assert listed(make_key("submit")) == {"public"}


@pytest.mark.parametrize("path", ["entries", "presence"])
def test_a_key_that_does_not_work_says_why(boards, path):
    past = timezone.now() - timedelta(seconds=1)
    revoked = make_key("read")
    ApiKey.objects.update(revoked_at=past)
    expired = make_key("read", expires_at=past)
    address = f"boards/public/{path}"
    assert refusal(Api(revoked).get(address)) == (401, "key_revoked")
    assert refusal(Api(expired).get(address)) == (401, "key_expired")
    for header in ("", "Basic abc", "Bearer", "Bearer x", "rk_abc", "Bearer rk_\xff"):
        answer = Api().call("GET", address, headers={"Authorization": header.encode("latin-1")})
        assert answer.status_code == 401, header
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_change_of_a_key_is_known_within_five_seconds(db):
    now = [0.0]
    ring = Keyring(clock=lambda: now[0])
    header = b"Bearer " + make_key("read").encode()

    def scopes():
        return (ring.remembered(header) or ring.look_up(header, "127.0.0.1")).scopes

    assert scopes() == {"read"}
    ApiKey.objects.update(scopes=["submit"])
    now[0] = callers.REMEMBER - 0.1
    assert scopes() == {"read"}
    now[0] = callers.REMEMBER
    assert scopes() == {"submit"}
    ApiKey.objects.update(revoked_at=timezone.now())
    now[0] += callers.REMEMBER
    assert ring.remembered(header) is None
    assert ring.look_up(header, "127.0.0.1").refused[0] == "key_revoked"
    assert callers.REMEMBER <= 5


def test_callers_that_come_together_are_looked_up_once(boards, django_assert_max_num_queries):
    api = Api(make_key("read"))
    with django_assert_max_num_queries(6):  # the key, its boards, its last use, the board
        answers = api.together([("GET", "boards/public/entries")] * 20)
    assert {answer.status_code for answer in answers} == {200}
    wrong = Api("rk_wrong").together([("GET", "boards/public/entries")] * 5)
    assert {answer.json()["code"] for answer in wrong} == {"key_unknown"}


def test_the_last_use_is_noted_once_a_minute(boards):
    api = Api(make_key("read"))
    api.get("boards/public/entries")
    first = ApiKey.objects.get().last_used_at
    assert first is not None
    callers.keyring.forget()
    api.get("boards/public")
    assert ApiKey.objects.get().last_used_at == first
    ApiKey.objects.update(last_used_at=first - timedelta(minutes=2))
    callers.keyring.forget()
    api.get("boards/public")
    assert ApiKey.objects.get().last_used_at > first - timedelta(minutes=1)


def test_a_deed_is_written_down_with_the_keys_name(boards):
    ask(make_key("moderate"), "DELETE", "boards/{}/players/ada", None, "public")
    entry = AuditEntry.objects.filter(action="player.remove").get()
    assert (entry.actor_name, entry.player_id) == ("API key Test", "ada")


# ---- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["entries", "presence", "players/nobody"])
def test_a_key_has_its_own_limit(boards, path):
    api = Api(make_key("read", rate="3/minute, fixed window"))
    answers = [api.get(f"boards/public/{path}") for _ in range(4)]
    assert [answer.status_code == 429 for answer in answers] == [False, False, False, True]
    assert refusal(answers[-1]) == (429, "rate_limited")
    assert answers[-1].headers["ratelimit"].startswith('"api_key";r=0')
    assert int(answers[-1].headers["retry-after"]) > 0
    assert answers[-1].json()["violated-policies"] == ["api_key"]
    assert Api(make_key("read")).get(f"boards/public/{path}").status_code != 429


def test_of_calls_that_come_together_exactly_the_limit_gets_through(boards):
    api = Api(make_key("submit", rate="7/minute, fixed window"))
    calls = [("POST", "boards/public/scores", {"player": f"p{n}", "score": n}) for n in range(20)]
    codes = [answer.status_code for answer in api.together(calls)]
    assert (codes.count(200), codes.count(429)) == (7, 13)
    assert boards["public"].engine().get_size() == 8


def test_refused_calls_count_too(boards):
    api = Api(make_key("submit", rate="3/minute, fixed window"))
    codes = [api.call("POST", "boards/public/scores", body=b"{").status_code for _ in range(5)]
    assert codes == [400, 400, 400, 429, 429]


@pytest.mark.parametrize("path", ["entries", "presence"])
def test_guessing_keys_is_limited_by_address(boards, path):
    callers.policies.override({"api_anonymous": "2/minute by ip, fixed window"})
    try:
        codes = [Api(f"rk_{n}").get(f"boards/public/{path}").status_code for n in range(4)]
    finally:
        callers.policies.override({})
    assert codes == [401, 401, 429, 429]


def test_strangers_have_a_stricter_limit(boards):
    policies = callers.policies
    stranger, key = policies.get("api_anonymous"), policies.get("api_key")
    assert stranger.limits[0].capacity < key.limits[0].capacity
    assert (
        Api().get("boards/public/entries").headers["ratelimit-policy"].startswith('"api_anonymous"')
    )


# ---- other origins -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["entries", "presence"])
def test_other_origins_are_let_in_by_setting(boards, settings, path):
    def ask_from(origin, method="GET", **headers):
        headers |= {"Origin": origin}
        return Api().call(method, f"boards/public/{path}", headers=headers)

    assert "access-control-allow-origin" not in ask_from("https://game.example").headers
    settings.API_ORIGINS = ["https://game.example"]
    answer = ask_from("https://game.example")
    assert answer.headers["access-control-allow-origin"] == "https://game.example"
    assert "RateLimit" in answer.headers["access-control-expose-headers"]
    assert "Origin" in answer.headers["vary"]
    assert "access-control-allow-origin" not in ask_from("https://evil.example").headers
    preflight = ask_from(
        "https://game.example", "OPTIONS", **{"Access-Control-Request-Method": "POST"}
    )
    assert preflight.status_code == 204
    assert "Idempotency-Key" in preflight.headers["access-control-allow-headers"]
    settings.API_ORIGINS = ["*"]
    assert ask_from("https://any.example").headers["access-control-allow-origin"] == "*"


# ---- addresses -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "nothing", 404),
        ("GET", "boards/public/entries/", 404),
        ("GET", "boards/public/scores", 405),
        ("PUT", "boards/public/scores", 405),
        ("DELETE", "boards/public", 405),
        ("POST", "boards/public/entries", 405),
    ],
)
def test_what_is_not_there_is_a_problem_too(boards, method, path, status):
    answer = Api(make_key("read")).call(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] in ("not_found", "method_not_allowed")


def test_an_unknown_host_is_left_to_django(boards):
    answer = Api().call("GET", "boards/public/entries", headers={"Host": "evil.example"})
    assert answer.status_code == 400


def test_plain_http_is_redirected_where_https_is_required(boards, settings):
    from config.web import hosts

    hosts._is_allowed.cache_clear()
    settings.SECURE_SSL_REDIRECT = True
    try:
        assert Api().get("boards/public/entries").status_code == 301
    finally:
        hosts._is_allowed.cache_clear()
