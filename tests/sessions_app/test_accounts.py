"""Accounts: each page, and what a stranger must not learn or do."""

import os
import re
import subprocess
import sys
from datetime import timedelta
from unittest import mock

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core import mail
from django.test import Client
from django.urls import reverse

from sessions_app import background, keys
from sessions_app.backend import digest_of

pytestmark = pytest.mark.django_db
User = get_user_model()
PASSWORD = "correct horse battery"
NEW_PASSWORD = "staple of another colour"


@pytest.fixture
def ann():
    return User.objects.create_user("ann", "ann@example.com", PASSWORD)


@pytest.fixture
def browser(ann):
    """A browser in which Ann is signed in, through the form."""

    def sign_in(**headers):
        client = Client(headers=headers)
        response = client.post("/accounts/login/", {"username": "ann", "password": PASSWORD})
        assert response.status_code == 302
        return client

    return sign_in


def cookie(client):
    return client.cookies["sessionid"].value


def is_signed_in(client):
    return client.get("/accounts/devices/").status_code == 200


def test_signing_up_signs_in_and_goes_to_where_one_came_from(client):
    page = client.get("/accounts/signup/?next=/accounts/devices/")
    assert 'value="/accounts/devices/"' in page.text
    form = {"username": "bob", "email": "", "password1": PASSWORD, "password2": PASSWORD}
    response = client.post("/accounts/signup/", form | {"next": "/accounts/devices/"})
    assert response.url == "/accounts/devices/"
    assert is_signed_in(client)
    assert client.get("/accounts/signup/").status_code == 302


@pytest.mark.parametrize("username", ["ann", "Ann", "ANN"])
def test_a_name_that_could_be_taken_for_another_is_refused(client, ann, username):
    form = {"username": username, "password1": PASSWORD, "password2": PASSWORD}
    response = client.post("/accounts/signup/", form)
    assert response.status_code == 200
    assert "taken" in response.text


def test_signing_up_with_a_known_address_looks_like_with_an_unknown_one(ann):
    answers = []
    for name, address in (("bob", ann.email), ("cid", "nobody@example.com")):
        client = Client()
        form = {"username": name, "email": address}
        form |= {"password1": PASSWORD, "password2": PASSWORD}
        response = client.post("/accounts/signup/", form)
        answers.append((response.status_code, response.url, response.content))
    assert answers[0] == answers[1]


def test_a_weak_password_is_refused(client):
    form = {"username": "bob", "password1": "12345678", "password2": "12345678"}
    assert "too common" in client.post("/accounts/signup/", form).text
    assert not User.objects.exists()


def test_a_weak_password_is_explained_where_it_was_typed(client):
    form = {"username": "bob", "password1": "12345678", "password2": "12345678"}
    shown = client.post("/accounts/signup/", form).context["form"]
    assert list(shown.errors) == ["password1"]
    assert "autofocus" in str(shown["password1"])
    assert "autofocus" not in str(shown["username"])


# Signing in.


def test_signing_in_and_out(browser):
    client = browser()
    assert is_signed_in(client)
    assert client.get("/accounts/logout/").status_code == 405
    assert is_signed_in(client)
    client.post("/accounts/logout/")
    assert not is_signed_in(client)


def test_the_session_id_changes_at_sign_in(ann, redis_client):
    client = Client()
    session = client.session
    session["visited"] = True
    session.save()
    before = cookie(client)
    client.post("/accounts/login/", {"username": "ann", "password": PASSWORD})
    assert cookie(client) != before
    assert not redis_client.exists(keys.session(digest_of(before)))
    assert client.session["visited"] is True


def test_an_id_that_an_attacker_chose_is_not_used(ann):
    chosen = "0123456789abcdef0123456789abcdef"
    client = Client()
    client.cookies["sessionid"] = chosen
    client.post("/accounts/login/", {"username": "ann", "password": PASSWORD})
    assert cookie(client) != chosen
    attacker = Client()
    attacker.cookies["sessionid"] = chosen
    assert not is_signed_in(attacker)


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "\t//evil.example",
        "javascript:alert(1)",
        "http:evil.example",
    ],
)
@pytest.mark.parametrize("page", ["login", "signup"])
def test_nobody_is_sent_to_another_site(ann, page, target):
    client = Client()
    form = {"username": "ann", "password": PASSWORD}
    if page == "signup":
        form = {"username": "bob", "password1": PASSWORD, "password2": PASSWORD}
    response = client.post(reverse(page), form | {"next": target})
    assert response.status_code == 302
    assert response.url == "/"
    assert "evil" not in client.get(reverse(page), {"next": target}).get("Location", "")


def test_the_cookie_can_be_read_by_no_script_and_is_not_sent_from_elsewhere(browser):
    sent = browser().cookies["sessionid"]
    assert sent["httponly"]
    assert sent["samesite"] == "Lax"


def test_in_production_cookies_want_https():
    code = (
        "import django; django.setup(); from django.conf import settings as s;"
        "print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SESSION_COOKIE_HTTPONLY)"
    )
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DEBUG": "false",
        "SECRET_KEY": "x" * 50,
        "ALLOWED_HOSTS": "example.com",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "True", "True"]


def without_chance(page):
    """Without the token and the time, which differ in any two pages."""
    return re.sub(r'value="[^"]*"|<time .*?</time>', "", page)


def test_a_wrong_name_and_a_wrong_password_get_the_same_answer_for_the_same_work(ann):
    """By time, too: the hash is computed as often, whether the name is known or not."""
    pages, work = [], []
    for name in ("ann", "nobody"):
        with mock.patch.object(
            MD5PasswordHasher, "encode", autospec=True, side_effect=MD5PasswordHasher.encode
        ) as encode:
            form = {"username": name, "password": "wrong password"}
            response = Client().post("/accounts/login/", form)
        work.append(encode.call_count)
        pages.append(without_chance(response.text))
    assert work[0] == work[1] == 1
    assert pages[0] == pages[1]


# Forms without a token.

FORMS = [
    ("signup", False),
    ("login", False),
    ("password_reset", False),
    ("logout", True),
    ("password_change", True),
    ("sign_out_device", True),
    ("account", True),
]


@pytest.mark.parametrize(("name", "signed_in"), FORMS)
def test_a_form_from_another_site_is_refused(ann, name, signed_in):
    client = Client(enforce_csrf_checks=True)
    if signed_in:
        client.force_login(ann)
    response = client.post(reverse(name), {"scope": "all"})
    assert response.status_code == 403
    if signed_in:
        assert is_signed_in(client)


# Password change and reset.


@pytest.mark.django_db(transaction=True)
def test_a_password_change_signs_out_the_others_at_once_and_keeps_this_one(browser, redis_client):
    laptop, phone, tablet = browser(), browser(), browser()
    before = cookie(laptop)
    form = {
        "old_password": PASSWORD,
        "new_password1": NEW_PASSWORD,
        "new_password2": NEW_PASSWORD,
    }
    response = laptop.post("/accounts/password/", form)
    assert response.url == "/accounts/devices/"
    # Gone from Redis, not only refused.
    for client in (phone, tablet):
        assert not redis_client.exists(keys.session(digest_of(cookie(client))))
        assert not is_signed_in(client)
    assert cookie(laptop) != before
    assert is_signed_in(laptop)


@pytest.mark.django_db(transaction=True)
def test_a_password_set_by_somebody_else_signs_out_all(ann, browser):
    client = browser()
    ann.set_password(NEW_PASSWORD)
    ann.save()
    assert not is_signed_in(client)


def test_a_stronger_hash_of_the_same_password_signs_nobody_out(browser, settings):
    laptop = browser()
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
        *settings.PASSWORD_HASHERS,
    ]
    with mock.patch("django.contrib.auth.hashers.PBKDF2PasswordHasher.iterations", 1):
        browser()
    # Django refuses the old hash, but its session was not deleted as after a change.
    assert laptop.session.exists(cookie(laptop))


@pytest.mark.django_db(transaction=True)
def test_an_account_that_is_closed_or_deleted_is_signed_out(browser, ann, redis_client):
    browser()
    ann.is_active = False
    ann.save()
    assert redis_client.keys("session:*") == []
    ann.is_active = True
    ann.save()
    browser()
    ann.delete()
    assert redis_client.keys("session:*") == []


@pytest.mark.parametrize("site", ["https://scores.example.com", "http://10.0.0.7:8000"])
def test_the_link_in_a_mail_leads_to_the_site_and_not_to_the_host_of_the_request(
    client, ann, settings, site
):
    settings.ALLOWED_HOSTS = ["*"]
    settings.SITE_URL = site
    client.post("/accounts/reset/", {"email": ann.email}, headers={"host": "evil.example"})
    (message,) = mail.outbox
    assert f"\n{site}/accounts/reset/" in message.body
    assert "evil.example" not in message.body


def test_a_forgotten_password_is_set_anew_by_mail(client, browser, settings):
    phone = browser()
    assert client.post("/accounts/reset/", {"email": "ann@example.com"}).status_code == 302
    (message,) = mail.outbox
    assert "new password" in message.subject
    path = re.search(rf"{settings.SITE_URL}(\S+)", message.body).group(1)
    form_path = client.get(path).url
    client.post(form_path, {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD})
    assert not is_signed_in(phone)
    assert client.login(username="ann", password=NEW_PASSWORD)
    assert "already been used" in Client().get(path, follow=True).text


def test_asking_for_a_new_password_tells_nothing_by_text_or_by_time(ann, monkeypatch):
    """All the work for a known address is handed over; the answer does not wait for it."""
    handed_over = []
    monkeypatch.setattr(background, "run", handed_over.append)
    answers = []
    for address in ("ann@example.com", "nobody@example.com"):
        response = Client().post("/accounts/reset/", {"email": address}, follow=True)
        answers.append(without_chance(response.text))
    assert answers[0] == answers[1]
    assert len(handed_over) == 2
    assert mail.outbox == []
    for work in handed_over:
        work()
    assert [message.to for message in mail.outbox] == [["ann@example.com"]]


def test_work_in_the_background_that_fails_is_logged(caplog):
    background.run(lambda: 1 / 0)
    assert "ZeroDivisionError" in caplog.text


# The account.


def test_changing_the_address_needs_the_password(browser, ann):
    client = browser()
    form = {"first_name": "Ann", "last_name": "", "email": "new@example.com"}
    page = client.post("/accounts/", form | {"current_password": "wrong"})
    assert "not your password" in page.text
    ann.refresh_from_db()
    assert ann.email == "ann@example.com"
    client.post("/accounts/", form | {"current_password": PASSWORD})
    ann.refresh_from_db()
    assert ann.email == "new@example.com"
    client.post("/accounts/", form | {"first_name": "Anna"})
    ann.refresh_from_db()
    assert ann.first_name == "Anna"


@pytest.mark.parametrize("name", ["account", "devices", "password_change", "ops"])
def test_strangers_are_asked_to_sign_in(client, name):
    response = client.get(reverse(name))
    assert response.status_code == 302
    assert response.url.startswith(reverse("login") + "?next=")


# The admin's door.


def test_the_admin_uses_the_same_sign_in(client, browser):
    response = client.get("/admin/", follow=True)
    assert response.redirect_chain[-1][0].startswith("/accounts/login/?next=/admin/")
    assert browser().get("/admin/login/?next=/admin/").status_code == 403


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("login", {"username": "ann", "password": "wrong"}),
        ("password_reset", {"email": "ann@example.com"}),
        ("signup", {"username": ""}),
    ],
)
def test_guessing_is_limited_by_policy(ann, name, form):
    client = Client()
    statuses = [client.post(reverse(name), form).status_code for _ in range(31)]
    assert statuses[0] in {200, 302}
    assert statuses[-1] == 429


def test_a_session_lasts_as_long_as_its_cookie(browser, settings, redis_client):
    client = browser()
    left = redis_client.ttl(keys.session(digest_of(cookie(client))))
    assert left == pytest.approx(settings.SESSION_COOKIE_AGE, abs=60)
    assert timedelta(seconds=left) > timedelta(days=13)


def test_every_page_of_an_account_is_kept_out_of_caches(browser):
    client = browser()
    for name in ("account", "devices", "password_change"):
        assert "no-store" in client.get(reverse(name))["Cache-Control"]
