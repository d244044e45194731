"""Guessing passwords is limited by account, by address and by session."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from leaderboard.api.callers import keyring
from ratelimit import policies
from tests.leaderboard.support import forget_seasons


@pytest.fixture(autouse=True)
def _fresh_process():
    keyring.forget()
    forget_seasons()
    yield
    policies.configure()


def log_in(client, username, address):
    form = {"username": username, "password": "wrong"}
    return client.post("/accounts/login/", form, REMOTE_ADDR=address).status_code


def test_one_account_cannot_be_guessed_from_many_addresses(db, client):
    User.objects.create_user("ann")
    answers = {log_in(client, "ann", f"203.0.113.{number}") for number in range(100)}
    assert answers == {200}
    assert log_in(client, "ann", "198.51.100.1") == 429
    assert log_in(client, "\uff21\uff2e\uff2e ", "198.51.100.2") == 429  # the same name to Django
    assert log_in(client, "bob", "198.51.100.1") == 200


def test_many_accounts_cannot_be_guessed_from_one_address(db, client):
    answers = [log_in(client, f"user{number}", "203.0.113.9") for number in range(31)]
    assert answers == [200] * 30 + [429]


def test_nobody_gets_a_flood_of_reset_mails(db, client, mailoutbox):
    User.objects.create_user("ann", "ann@example.com", "correct horse battery")
    form = {"email": "ann@example.com"}
    for number in range(21):
        answer = client.post("/accounts/reset/", form, REMOTE_ADDR=f"203.0.113.{number}")
    assert answer.status_code == 429
    assert len(mailoutbox) == 20


def test_the_old_password_cannot_be_guessed_with_a_session(db, client):
    client.force_login(User.objects.create_user("ann", password="correct horse battery"))
    form = {"old_password": "x", "new_password1": "y", "new_password2": "y"}
    codes = [client.post("/accounts/password/", form).status_code for _ in range(11)]
    assert codes == [200] * 10 + [429]
