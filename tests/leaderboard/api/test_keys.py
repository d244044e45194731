"""API keys: made in the admin, shown once, kept as a hash."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils import timezone

from leaderboard.api.callers import keyring
from leaderboard.models import ApiKey, AuditEntry, Board
from leaderboard.models.api_key import digest_of
from tests.leaderboard.api.support import Api, make_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client):
    user = User.objects.create_superuser("root")
    client.force_login(user)
    return user


def add(client, **values):
    form = {"name": "Server", "scopes": ["read", "submit"], "all_boards": "on", "rate": ""}
    form |= {"expires_at_0": "", "expires_at_1": ""} | values
    return client.post(reverse("admin:leaderboard_apikey_add"), form)


def test_a_new_key_is_shown_once_and_stored_as_a_hash(client, staff):
    answer = add(client)
    token = re.search(r'value="(rk_[\w-]+)"', answer.content.decode())[1]
    key = ApiKey.objects.get()
    assert key.digest == digest_of(token)
    assert token.startswith(key.hint)
    assert key.created_by == staff
    assert "no-store" in answer["Cache-Control"]
    change = client.get(reverse("admin:leaderboard_apikey_change", args=[key.pk]))
    assert token not in change.content.decode()
    assert key.digest not in change.content.decode()
    assert AuditEntry.objects.get(action="create_api_key").actor == staff


def test_a_key_needs_boards_or_all_of_them(client, staff):
    assert "Choose the boards" in add(client, all_boards="").content.decode()
    assert not ApiKey.objects.exists()
    board = Board.objects.create(slug="cup", name="Cup")
    add(client, all_boards="", boards=[board.pk])
    assert list(ApiKey.objects.get().boards.all()) == [board]


def test_a_key_cannot_be_made_for_the_past(client, staff):
    past = {"expires_at_0": "2020-01-01", "expires_at_1": "00:00"}
    assert "in the future" in add(client, **past).content.decode()
    assert not ApiKey.objects.exists()
    # One that is over meanwhile can still be renamed.
    moment = timezone.now().replace(microsecond=0) - timedelta(days=1)
    key, _ = ApiKey.make("Server", ["read"], all_boards=True, expires_at=moment)
    form = {"name": "Old", "scopes": ["read"], "all_boards": "on", "rate": ""}
    local = timezone.localtime(moment)
    form |= {"expires_at_0": f"{local:%Y-%m-%d}", "expires_at_1": f"{local:%H:%M:%S}"}
    client.post(reverse("admin:leaderboard_apikey_change", args=[key.pk]), form)
    assert ApiKey.objects.get().name == "Old"


def test_a_change_keeps_the_key(client, staff):
    key, _ = ApiKey.make("Server", ["read"], all_boards=True)
    form = {"name": "Bot", "scopes": ["read"], "all_boards": "on", "rate": ""}
    form |= {"expires_at_0": "", "expires_at_1": ""}
    client.post(reverse("admin:leaderboard_apikey_change", args=[key.pk]), form)
    changed = ApiKey.objects.get()
    assert (changed.name, changed.digest) == ("Bot", key.digest)


def test_revoking_is_an_action_with_an_audit_entry(client, staff):
    key, _ = ApiKey.make("Server", ["read"], all_boards=True)
    data = {"action": "revoke", "_selected_action": [key.pk]}
    client.post(reverse("admin:leaderboard_apikey_changelist"), data)
    assert ApiKey.objects.get().revoked_at is not None
    assert AuditEntry.objects.get(action="revoke_api_key").actor == staff


def test_an_unknown_scope_is_refused():
    with pytest.raises(ValidationError):
        ApiKey.make("Server", ["everything"])


def test_two_keys_are_never_alike():
    tokens = {ApiKey.make("Server", ["read"])[1] for _ in range(20)}
    assert len(tokens) == 20


@pytest.mark.parametrize("rate", ["banana", "0/second", "5/fortnight", "20 at once", ","])
def test_a_rate_that_makes_no_sense_is_refused_by_the_form_and_the_model(client, staff, rate):
    assert add(client, rate=rate).status_code == 200  # the form again, not the page of a new key
    assert "errorlist" in add(client, rate=rate).content.decode()
    with pytest.raises(ValidationError) as refused:
        ApiKey.make("Server", ["read"], all_boards=True, rate=rate)
    assert list(refused.value.message_dict) == ["rate"]
    assert not ApiKey.objects.exists()


def test_a_key_that_already_has_such_a_rate_has_the_usual_limit(api, board):
    ApiKey.objects.update(rate="banana")
    answer = api.get("boards/cup")
    assert answer.status_code == 200
    assert answer.headers["ratelimit-policy"].startswith('"api_key"')


@pytest.fixture
def maker(db):
    return User.objects.create_user("maker", is_staff=True)


@pytest.mark.parametrize("path", ["boards/cup", "boards/cup/entries", "boards/cup/live"])
@pytest.mark.parametrize("end", ["closed", "deleted"])
def test_a_key_stops_with_its_makers_account(board, maker, end, path):
    board.visibility = Board.Visibility.PRIVATE
    board.save()
    api = Api(make_key("read", created_by=maker))
    assert api.get("boards/cup").status_code == 200
    if end == "closed":
        maker.is_active = False
        maker.save()
    else:
        maker.delete()
    keyring.forget()
    answer = api.get(path)
    assert (answer.status_code, answer.json()["code"]) == (401, "key_stopped")


def test_the_key_of_a_service_goes_on(board, maker):
    api = Api(make_key("read", created_by=maker, is_service=True))
    User.objects.update(is_active=False)
    assert api.get("boards/cup").status_code == 200
    maker.delete()
    keyring.forget()
    assert api.get("boards/cup").status_code == 200


def test_the_admin_marks_keys_of_services_and_shows_which_have_stopped(client, staff, maker):
    add(client, name="Bot", is_service="on")
    assert ApiKey.objects.get(name="Bot").is_service
    assert AuditEntry.objects.get(action="create_api_key").data["is_service"] is True
    add(client, name="Mine")
    assert not ApiKey.objects.get(name="Mine").is_service
    ApiKey.objects.filter(name="Mine").update(created_by=maker)
    User.objects.filter(pk=maker.pk).update(is_active=False)
    listed = client.get(reverse("admin:leaderboard_apikey_changelist")).text
    assert listed.count("account is closed") == 1
