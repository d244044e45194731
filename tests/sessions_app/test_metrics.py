"""`/metrics` and `/ops/` name boards to nobody who may not see them."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from sessions_app import ops, presence
from tests.leaderboard.support import open_board, submit

pytestmark = pytest.mark.django_db
TOKEN = "a-token-of-forty-characters-" + "x" * 12
ELSEWHERE = {"REMOTE_ADDR": "203.0.113.7"}


def bearer(token):
    return {"headers": {"Authorization": f"Bearer {token}"}}


def test_metrics_name_boards_by_number(client):
    board = open_board("secret-cup", visibility="private")
    submit(board, "ada", 1)
    text = client.get("/metrics").text
    assert f'rostrum_score_log_lag{{board="{board.pk}"}} 1.0' in text
    assert "secret" not in text


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
def test_metrics_answer_this_machine(client, address):
    assert client.get("/metrics", REMOTE_ADDR=address).status_code == 200


@pytest.mark.parametrize("address", ["203.0.113.7", "10.0.0.1", "::2", ""])
def test_metrics_refuse_other_machines(client, address):
    answer = client.get("/metrics", REMOTE_ADDR=address)
    assert answer.status_code == 403
    assert "rostrum_" not in answer.text
    assert "METRICS_TOKEN" in answer.text
    assert client.get("/metrics", REMOTE_ADDR=address, **bearer("")).status_code == 403


def test_a_token_opens_metrics_from_everywhere(client, settings):
    settings.METRICS_TOKEN = TOKEN
    assert client.get("/metrics", **ELSEWHERE, **bearer(TOKEN)).status_code == 200
    for wrong in ("", "x", TOKEN[:-1], TOKEN + "x", "\u00e9" * 40):
        assert client.get("/metrics", **ELSEWHERE, **bearer(wrong)).status_code == 403
    headers = {"Authorization": f"Basic {TOKEN}"}
    assert client.get("/metrics", **ELSEWHERE, headers=headers).status_code == 403
    assert client.get("/metrics").status_code == 200


def test_who_comes_through_a_proxy_is_not_this_machine(client, settings):
    def ask(forwarded_for):
        return client.get("/metrics", headers={"X-Forwarded-For": forwarded_for}).status_code

    settings.TRUSTED_PROXIES = 1
    assert ask("203.0.113.7") == 403
    assert ask("127.0.0.1, 203.0.113.7") == 403
    assert ask("127.0.0.1") == 200
    # A proxy that nobody has counted: whoever is behind it would all pass for this machine.
    settings.TRUSTED_PROXIES = 0
    assert ask("203.0.113.7") == 403
    assert ask("127.0.0.1") == 403


@pytest.fixture
def staff():
    user = User.objects.create_user("helper", is_staff=True)
    client = Client()
    client.force_login(user)
    return user, client


def test_operations_name_boards_to_those_who_may_view_them(staff, redis_client):
    user, client = staff
    board = open_board("secret-cup", visibility="private", name="The secret")
    redis_client.config_set("slowlog-log-slower-than", "0")
    try:
        submit(board, "ada", 1)
        presence.touch(["u:1"], board=board.slug)
    finally:
        redis_client.config_set("slowlog-log-slower-than", "10000")
    page = client.get("/ops/")
    assert page.status_code == 200
    assert "secret" not in page.text.lower()
    assert "Score log" in page.text  # figures of all boards together
    user.user_permissions.add(Permission.objects.get(codename="view_board"))
    page = client.get("/ops/").text
    assert "The secret" in page
    assert "{secret-cup}" in page


def test_a_warning_that_names_a_board_is_for_them_too(staff, monkeypatch):
    user, client = staff
    fact = ops.Fact("State", "The secret", "Bad.", warning=True, permission=ops.BOARDS)
    monkeypatch.setattr(ops._page, "sources", [lambda: ops.Section("Mine", 1, [fact])])
    ops.forget()
    assert "The secret" not in client.get("/ops/").text
    user.user_permissions.add(Permission.objects.get(codename="view_board"))
    assert "The secret" in client.get("/ops/").text
