"""What one caller sends must not stop the service for the others."""

from __future__ import annotations

import json

import pytest
from asgiref.sync import async_to_sync

from config.redis.connections import close_async_redis
from leaderboard.access.audit import WORKER
from leaderboard.api import codecs
from leaderboard.api.callers import keyring
from leaderboard.api.hot import bodies
from leaderboard.api.hot.app import lane
from leaderboard.api.hot.reads import LONGEST_TARGET, Kept, Store
from leaderboard.closing import seasons
from leaderboard.engine import LeaderboardError
from leaderboard.live.lane import LiveLane
from leaderboard.models import Player
from ratelimit import callers, policies, requests
from ratelimit.middleware import default_policy
from sessions_app.models import Flag
from tests.asgi import ask
from tests.leaderboard.api.support import Api, connection_kept, make_key
from tests.leaderboard.api.support import application as lanes
from tests.leaderboard.support import forget_seasons, open_board, submit

JSON = {"Content-Type": "application/json"}


@pytest.fixture(autouse=True)
def _fresh_process():
    keyring.forget()
    forget_seasons()
    yield
    policies.configure()


@pytest.fixture
def board(db):
    return open_board(windows=["day", "week", "month"], submitters="demo")


# ---- what is stored must not break the pages that show it ----------------------------------------
@pytest.mark.parametrize("player_id", ["a\nb", "\n", "a\rb", "a\0b", "\x1b[2J", "a\x7f"])
def test_ids_with_control_characters_are_refused(board, client, player_id):
    with pytest.raises(LeaderboardError) as refused:
        submit(board, player_id, 5)
    assert refused.value.code == "invalid_id"
    form = {"operation": "set", "player_id": f"a{player_id}b", "score": "5"}
    assert client.post("/boards/cup/console/", form).status_code == 200
    assert client.get("/boards/cup/").status_code == 200
    assert board.engine().get_size() == 0


@pytest.mark.parametrize(
    "player_id", ["a/../b", "..", "a?b#c", "%2F", "‮abc", "x" * 256, "/", "<b>", "👩‍🚀"]
)
def test_strange_ids_break_nothing(board, client, player_id):
    submit(board, player_id, 5)
    page = client.get("/boards/cup/")
    assert page.status_code == 200
    assert b"<b>" not in page.content


def test_details_hold_no_nul_which_sql_would_refuse_when_the_season_is_archived(board):
    with pytest.raises(LeaderboardError) as refused:
        submit(board, "ada", 5, details={"name": "A\0da"})
    assert refused.value.code == "invalid_text"


@pytest.mark.parametrize("score_format", ["points", "decimals", "duration"])
def test_scores_at_the_ends_of_the_scale_are_shown(db, client, score_format):
    board = open_board(score_format=score_format, score_decimals=3, operator="set")
    Flag.objects.update_or_create(name="wall", defaults={"state": Flag.State.ON})
    for player_id, score in (("a", 1.7e308), ("b", -1.7e308), ("c", 5e-324)):
        submit(board, player_id, score)
    for path in ("/", "/boards/cup/", "/boards/cup/players/a/", "/boards/cup/?display=wall"):
        assert client.get(path).status_code == 200


# ---- what is sent must not cost more than it is worth --------------------------------------------
def test_a_name_that_stands_twice_is_found_in_one_pass():
    many = [(f"n{number}", 1) for number in range(50_000)]
    with pytest.raises(codecs.RepeatedNameError):  # hours, if each were counted among the others
        codecs._unique([*many, ("n49999", 2)])


@pytest.mark.parametrize(
    ("body", "lines"), [(b"[" + b"1," * 500_000 + b"1]", False), (b"\n" * 500_000, True)]
)
def test_bodies_of_countless_values_are_refused_before_they_are_decoded(body, lines):
    with pytest.raises(bodies.ApiError) as refused:
        bodies.read_rows(body, lines=lines)
    assert refused.value.status == 413


def test_one_score_is_never_long(board):
    api = Api(make_key("submit"))
    details = {f"n{number}": "x" for number in range(20_000)}
    row = {"player": "ada", "score": 1, "details": details}
    assert api.post("boards/cup/scores", row).status_code == 413
    answer = api.post("boards/cup/scores/bulk", [row]).json()
    assert answer["results"][0]["error"]["code"] == "row_too_large"
    assert board.engine().get_size() == 0


async def nothing_sent(path, headers=(), method="POST"):
    """The status that a client gets who announces a body and sends none of it."""
    received = []

    async def application(scope, receive, send):
        async def no_body():
            received.append(1)
            return {"type": "http.disconnect"}

        await lanes()(scope, no_body, send)

    length = (b"content-length", b"1000000")
    try:
        answer = await ask(application, path, method=method, headers=[length, *headers])
    finally:
        await close_async_redis()
    return answer.status, bool(received)


@pytest.mark.parametrize("path", ["scores", "scores/bulk"])
@pytest.mark.parametrize(
    ("token", "status"), [("", 401), ("rk_wrong", 401), ("read", 403), ("elsewhere", 403)]
)
def test_no_body_is_read_of_whoever_may_not_send_it(board, path, token, status):
    if token == "read":
        token = make_key("read")
    elif token == "elsewhere":
        token = make_key("submit", all_boards=False)
    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
    with connection_kept():
        found = async_to_sync(nothing_sent)(f"/api/v1/boards/cup/{path}", headers)
    assert found == (status, False)


@pytest.mark.parametrize("path", ["scores", "scores/bulk"])
def test_no_body_is_read_of_whoever_is_over_the_limit(board, path):
    token = make_key("submit", rate="1/hour")
    assert Api(token).post("boards/cup/scores", {"player": "a", "score": 1}).status_code == 200
    assert Api(token).post("boards/cup/scores", {"player": "a", "score": 1}).status_code == 429
    with connection_kept():
        found = async_to_sync(nothing_sent)(
            f"/api/v1/boards/cup/{path}", [(b"authorization", f"Bearer {token}".encode())]
        )
    assert found == (429, False)


def test_a_score_that_announces_too_much_is_not_read(board):
    headers = [(b"authorization", f"Bearer {make_key('submit')}".encode())]
    with connection_kept():
        found = async_to_sync(nothing_sent)("/api/v1/boards/cup/scores", headers)
    assert found == (413, False)


def test_a_full_bulk_submission_of_the_longest_rows_fits_the_bounds():
    row = {"player": "é" * 128, "score": -1.2345678901234567e-300, "details": {}}
    row["details"] = {f"{number:02}": "é" * 60 for number in range(32)}
    assert len(json.dumps(row)) <= bodies.LARGEST_ROW
    assert json.dumps(row).count(",") * bodies.MOST_ROWS <= bodies.MOST_VALUES


def test_a_large_body_for_django_is_413(board):
    body = b'{"players":["' + b"a" * 3_000_000 + b'"]}'
    answer = Api().call("POST", "boards/cup/entries/among", body=body, headers=JSON)
    assert answer.status_code == 413
    assert answer.json()["code"] == "body_too_large"


@pytest.mark.parametrize("depth", [950, 100_000])
@pytest.mark.parametrize("value", [b"[", b'{"a":'])
def test_deep_nesting_is_refused(board, depth, value):
    body = b'{"players":' + value * depth
    answer = Api().call("POST", "boards/cup/entries/among", body=body, headers=JSON)
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("window", "period"),
    [("day", "9999-12-31"), ("week", "9999-W52"), ("month", "9999-12"), ("week", "99999-W1")],
)
def test_periods_at_the_end_of_time_are_refused_alone(board, window, period):
    """The lane asks for several callers at once: one bad period must not fail the others."""
    bad = ("GET", f"boards/cup/entries?window={window}&period={period}")
    good = ("GET", "boards/cup/entries")
    answers = Api().together([good, bad, good])
    assert [answer.status_code for answer in answers] == [200, 422, 200]
    assert Api().get(f"boards/cup/distribution?window={window}&period={period}").status_code == 422


@pytest.mark.parametrize("text", ["a%01b", "%0B%00x", "x" * 300, "%F0%9F%91%A9" * 90, "%FF"])
def test_what_can_be_no_id_is_nobody(board, client, text):
    submit(board, "ada", 5)
    assert client.get(f"/boards/cup/?q={text}").status_code == 200
    assert client.get(f"/boards/cup/players/{text}/").status_code == 404


@pytest.mark.parametrize("path", ["boards/a%00b/entries", "boards/cup/players/%00", "boards/a%00b"])
def test_nul_in_an_address_never_reaches_sql(board, client, path):
    assert Api().get(path).status_code in (404, 422)
    assert client.get("/boards/cup/players/%00/").status_code == 404
    assert client.get("/boards/cup/?q=%00").status_code == 200


MANY = "&".join(f"a{number}=1" for number in range(2500))


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/nothing/",
        "/boards/cup/",
        "/live/boards/cup/",
        "/live/home/",
        "/api/v1/boards",
        "/api/v1/boards/cup",
        "/api/v1/boards/cup/entries",
        "/api/v1/boards/cup/players/ada/history",
        "/api/v1/boards/cup/live",
        "/api/v1/nothing",
    ],
)
def test_thousands_of_parameters_are_400_in_every_lane(board, client, path):
    async def asked():
        try:
            return await ask(LiveLane(lanes()), path, query=MANY.encode())
        finally:
            await close_async_redis()

    with connection_kept():
        assert async_to_sync(asked)().status == 400
    if not path.endswith("/live"):  # streams need a lane
        assert client.get(f"{path}?{MANY}").status_code == 400


def test_a_form_of_thousands_of_fields_is_400(board, client):
    fields = {f"a{number}": "1" for number in range(21_000)}
    assert client.post("/look/theme/", fields).status_code == 400


def statuses(client, number, path, **options):
    return [client.get(path, **options).status_code for _ in range(number)]


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/nothing",
        "/api/v1/boards/cup/nothing/at/all",
        "/api/v1/openapi.json",
        "/api/v1/docs",
    ],
)
def test_what_no_operation_of_the_api_answers_counts_too(board, client, settings, path):
    settings.RATE_LIMITS = settings.RATE_LIMITS | {"api_anonymous": "2/hour by ip, fixed window"}
    policies.configure()
    found = statuses(client, 4, path)
    assert set(found[:2]) <= {200, 404}
    assert found[2:] == [429, 429]
    assert client.options(path).status_code == 429
    assert client.patch(path).status_code == 429


def test_an_operation_is_charged_once_without_the_lane(board, client, settings):
    settings.RATE_LIMITS = settings.RATE_LIMITS | {"api_anonymous": "2/hour by ip, fixed window"}
    policies.configure()
    assert statuses(client, 3, "/api/v1/boards/cup") == [200, 200, 429]
    known = {"REMOTE_ADDR": "203.0.113.7"}
    assert statuses(client, 3, "/api/v1/boards/cup/entries", **known) == [200, 200, 429]
    known = {"REMOTE_ADDR": "203.0.113.8"}
    assert statuses(client, 3, "/api/v1/boards/zzz/entries", **known) == [404, 404, 429]


@pytest.mark.parametrize(
    ("path", "policy"),
    [
        ("/nothing", "page"),
        ("/static/nothing.css", "static"),
        ("/live/boards/zzz/", "live_open"),
        ("/metrics", "monitoring"),
        ("/readyz", "monitoring"),
        ("/api/v1/openapi.json", "api_anonymous"),
    ],
)
def test_every_address_has_a_limit_before_it_is_looked_up(path, policy):
    assert default_policy(path) == policy
    assert requests.needs_only_headers(policies.get(policy))  # so that the gate can ask


def test_machines_on_this_one_are_never_refused_and_others_do_not_share_with_pages():
    policy = policies.get("monitoring")
    assert requests.is_exempt_address(policy, "127.0.0.1")
    assert requests.is_exempt_address(policy, "::1")
    assert not requests.is_exempt_address(policy, "10.0.0.1")


@pytest.mark.django_db(transaction=True)  # the end of each answer closes its connection
def test_exports_have_a_limit_of_their_own(board, client):
    submit(board, "ada", 5)
    seasons.close_season(board=board, actor=WORKER)
    path = "/boards/cup/seasons/1/?format=csv"
    for _ in range(20):
        answer = client.get(path)
        assert b"ada" in answer.getvalue()
        answer.close()
    assert client.get(path).status_code == 429
    assert client.get("/boards/cup/seasons/1/").status_code == 200


# ---- what a process remembers is bounded in size, not only in number -----------------------------
def test_answers_to_endless_addresses_are_not_kept():
    store = Store()
    kept = Kept(b"{}", "v", 1, 1, 0, "tag")
    store.put(b"/api/v1/boards/cup/entries?" + b"x" * LONGEST_TARGET, kept)
    assert len(store) == 0
    store.put(b"/api/v1/boards/cup/entries", kept)
    assert len(store) == 1


def test_only_short_addresses_that_were_paid_for_are_remembered(board):
    seen = []

    async def asked():
        here = lane()
        for query in (b"limit=5", b"limit=5&cursor=" + b"b" * LONGEST_TARGET, b"limit=6"):
            headers = [(b"authorization", f"Bearer {token}".encode())]
            await ask(lanes(), "/api/v1/boards/cup/entries", query=query, headers=headers)
            seen.append(len(here.reads._plans))
        await close_async_redis()

    token = make_key("read", rate="2/hour")
    with connection_kept():
        async_to_sync(asked)()
    assert seen == [1, 1, 1]  # too long, then refused


def test_a_limit_looks_at_no_more_of_a_user_name_than_an_account_can_have():
    long = "a" * 1_000_000
    assert callers.field_name("username", long + "1") == callers.field_name("username", long + "2")


# ---- what was asked not to be shown --------------------------------------------------------------
def test_an_opted_out_player_has_no_history_in_the_api(board):
    submit(board, "ada", 5)
    submit(board, "bob", 4)
    Player.objects.create(id="ada", privacy=Player.Privacy.OPTED_OUT)
    assert Api().get("boards/cup/players/ada/history").status_code == 404
    assert Api().get("boards/cup/players/bob/history").status_code == 200
