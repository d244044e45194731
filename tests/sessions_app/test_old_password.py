"""Whoever has a session but not the password cannot find it out."""

from itertools import cycle

import pytest
from django.contrib.auth.models import User
from django.test import Client

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
NEW = "staple of another colour"
PASSWORD_PAGE, ACCOUNT_PAGE = "/accounts/password/", "/accounts/"


def guess(page, password):
    if page == PASSWORD_PAGE:
        return {"old_password": password, "new_password1": NEW, "new_password2": NEW}
    return {"email": "mine@example.com", "current_password": password}


def send(client, number, page, password="wrong"):
    address = f"203.{number // 200}.{number % 200}.1"
    return client.post(page, guess(page, password), REMOTE_ADDR=address).status_code


@pytest.fixture
def ann():
    return User.objects.create_user("ann", "ann@example.com", PASSWORD)


@pytest.mark.parametrize("pages", [[PASSWORD_PAGE], [ACCOUNT_PAGE], [PASSWORD_PAGE, ACCOUNT_PAGE]])
def test_guesses_from_many_addresses_and_sessions_count_together(ann, pages):
    thieves = [Client(), Client()]
    for client in thieves:
        client.force_login(ann)
    guesses = zip(range(40), cycle(thieves), cycle(pages), strict=False)
    statuses = [send(client, number, page) for number, client, page in guesses]
    assert statuses.index(429) == 10
    assert set(statuses[10:]) == {429}
    # Not even the right one goes through now.
    assert send(thieves[0], 99, pages[0], PASSWORD) == 429
    ann.refresh_from_db()
    assert ann.check_password(PASSWORD)
    assert ann.email == "ann@example.com"


def test_others_are_not_held_up(ann):
    thief, bob = Client(), Client()
    thief.force_login(ann)
    bob.force_login(User.objects.create_user("bob", password=PASSWORD))
    for number in range(12):
        send(thief, number, PASSWORD_PAGE)
    assert send(bob, 1, PASSWORD_PAGE, PASSWORD) == 302


def test_changing_a_name_is_no_guess(ann):
    client = Client()
    client.force_login(ann)
    form = {"email": "ann@example.com", "first_name": "Ann", "current_password": ""}
    assert {client.post(ACCOUNT_PAGE, form).status_code for _ in range(15)} == {302}
