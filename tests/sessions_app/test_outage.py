"""Redis is away: nobody is signed out by it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client


@pytest.fixture
def outage(redis_server):
    """Stops the server so that what it held is there again after the restart."""
    redis_server.save()
    redis_server.stop()
    yield redis_server
    if not redis_server.answers():
        redis_server.start()
    redis_server.forget_saved()


@pytest.fixture
def signed_in(db):
    client = Client()
    client.force_login(User.objects.create_user("ann"))
    assert client.get("/accounts/devices/").status_code == 200
    return client


def test_a_request_with_a_session_gets_503_and_is_signed_in_when_redis_is_back(signed_in, outage):
    session_id = signed_in.cookies["sessionid"].value
    for path in ("/accounts/devices/", "/accounts/"):
        response = signed_in.get(path)
        assert response.status_code == 503
        assert int(response["Retry-After"]) > 0
        assert "no-store" in response["Cache-Control"]
        assert "sessionid" not in response.cookies
    assert signed_in.post("/accounts/logout/").status_code == 503
    outage.start()
    assert signed_in.cookies["sessionid"].value == session_id
    assert signed_in.get("/accounts/devices/").status_code == 200


def test_signing_in_during_an_outage_says_so(db, outage):
    User.objects.create_user("ann", password="a good password")
    form = {"username": "ann", "password": "a good password"}
    assert Client().post("/accounts/login/", form).status_code == 503
