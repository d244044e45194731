"""Random forms and query strings: whatever is sent, the answer is never a failure of ours."""

from __future__ import annotations

import os
from urllib.parse import urlencode, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import settings as how
from hypothesis import strategies as st

from ratelimit import policies
from sessions_app import flags
from sessions_app.models import Flag
from tests.leaderboard.support import open_board, submit

# Few and always the same in the suite; `make fuzz` tries many new ones.
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "4"))
ALWAYS_THE_SAME = "FUZZ_EXAMPLES" not in os.environ

# Each with the names that its view or its form asks for.
QUERIES = {
    "/": ["page"],
    "/boards/cup/": ["q", "page", "rank", "window", "display", "top", "country", "team"],
    "/boards/cup/players/ada/": ["page", "season"],
    "/boards/cup/nearby/": ["lat", "lon", "radius", "by"],
    "/boards/cup/seasons/": ["page"],
    "/boards/cup/seasons/1/": ["q", "page", "format"],
    "/accounts/login/": ["next"],
    "/accounts/signup/": ["next"],
    "/admin/login/": ["next"],
    "/live/boards/cup/": ["window", "since"],
}
FORMS = {
    "/accounts/login/": ["username", "password", "next"],
    "/accounts/signup/": ["username", "email", "password1", "password2", "next"],
    "/accounts/reset/": ["email"],
    "/accounts/": ["first_name", "last_name", "email", "current_password"],
    "/accounts/password/": ["old_password", "new_password1", "new_password2"],
    "/accounts/profile/": ["display_name", "country", "team", "avatar", "bio", "privacy"],
    "/accounts/devices/sign-out/": ["device", "scope"],
    "/boards/cup/submit/": ["score"],
    "/boards/cup/nearby/": ["lat", "lon", "forget"],
    "/presence/": ["leaving"],
    "/look/theme/": ["theme", "next"],
} | {
    f"/boards/cup/console/?{operation}": [
        *("operation", "player_id", "score", "amount", "count", "rank", "limit", "sure"),
        *("name", "country", "team", "avatar"),
    ]
    for operation in ("set", "add", "top", "around", "limit", "reset")
}
ODD = [
    *("", "0", "1", "-1", "2147483648", "1e400", "nan", "-inf", "9" * 400, "1.5", "True"),
    *("\0", "\n", "a\rb", "\ud7ff", "\u202e", "<script>", "'\"", "%s%n", "{{7*7}}", "../../etc"),
    *("//evil.example", "javascript:alert(1)", "https://e", "DE", "day", "wall", "csv", "shown"),
    *("ada", "ann", "a@b.example", "all", "others", "x" * 10_000, "👩‍🚀" * 100),
]
values = st.sampled_from(ODD) | st.text(st.characters(codec="utf-8"), max_size=30)


@pytest.fixture
def visitor(db, settings):
    """Signed in, on a demo board with everything on, and without limits in the way."""
    Flag.objects.update_or_create(name="wall", defaults={"state": Flag.State.ON})
    Flag.objects.update_or_create(name="nearby", defaults={"state": Flag.State.ON})
    flags.forget()
    before = settings.RATE_LIMITS
    settings.RATE_LIMITS = dict.fromkeys(before, "1000000/second by ip, token bucket")
    policies.configure()
    board = open_board(
        submitters="demo", windows=["day"], groups=["country", "team"], score_format="duration"
    )
    submit(board, "ada", 5, details={"country": "DE"})
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_user("ann", password="correct horse battery"))
    yield client
    settings.RATE_LIMITS = before
    policies.configure()
    flags.forget()


def tried(names):
    def decorate(run):
        sent = st.dictionaries(st.sampled_from(names), values, max_size=len(names))
        return how(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=ALWAYS_THE_SAME,
            database=None,
            suppress_health_check=list(HealthCheck),
        )(given(sent=sent)(run))

    return decorate


@pytest.mark.parametrize("path", QUERIES)
def test_queries(visitor, path):
    @tried(QUERIES[path])
    def run(sent):
        for client in (visitor, Client(raise_request_exception=False)):
            answer = client.get(f"{path}?{urlencode(sent)}")
            assert answer.status_code < 500, sent
            check(answer)

    run()


@pytest.mark.parametrize("path", FORMS)
def test_forms(visitor, path):
    operation = path.partition("?")[2]

    @tried(FORMS[path])
    def run(sent):
        if operation:
            sent = sent | {"operation": operation}
        answer = visitor.post(path, sent)
        assert answer.status_code < 500, sent
        check(answer)

    run()
    for page in ("/", "/boards/cup/", "/boards/cup/?display=wall"):
        assert visitor.get(page).status_code == 200  # what was stored can be shown


def check(answer):
    """Nothing sent comes back as markup, and nobody is led away."""
    location = urlsplit(answer.headers.get("Location", "/"))
    assert not location.scheme, location
    assert not location.netloc, location
    if not answer.streaming:
        assert b"<script>" not in answer.content.replace(b"<script src", b"")
