"""Redis goes away under a running product, and comes back."""

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client

from tests.servers import ON_CLUSTER

pytestmark = pytest.mark.django_db


@pytest.fixture
def outage(redis_server):
    """The server, to be stopped and started; it runs again afterwards."""
    yield redis_server
    if not redis_server.answers():
        redis_server.start()


@pytest.fixture
def visitor():
    return Client(raise_request_exception=False)


@pytest.fixture
def signed_in(visitor):
    user = get_user_model().objects.create_user("ada", password="correct horse")
    visitor.force_login(user)
    return visitor


def test_a_page_says_503_and_when_to_come_back(outage, signed_in):
    outage.stop()
    response = signed_in.get("/")
    assert response.status_code == 503
    assert int(response["Retry-After"]) > 0
    assert "text/html" in response["Content-Type"]
    assert b"Traceback" not in response.content


def test_the_page_retries_by_itself(outage, signed_in):
    outage.stop()
    assert 'http-equiv="refresh"' in signed_in.get("/").content.decode()


def test_a_machine_gets_problem_json(outage, signed_in):
    outage.stop()
    response = signed_in.get("/", headers={"Accept": "application/json"})
    assert response.status_code == 503
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["code"] == "redis_unavailable"
    assert int(response["Retry-After"]) > 0


def test_the_cookie_stays_and_works_again_without_a_restart(outage, signed_in):
    cookie = signed_in.cookies[settings.SESSION_COOKIE_NAME].value
    outage.save()
    outage.stop()
    response = signed_in.get("/")
    assert response.status_code == 503
    assert settings.SESSION_COOKIE_NAME not in response.cookies
    outage.start()
    outage.forget_saved()
    response = signed_in.get("/")
    assert response.status_code == 200
    assert response.context["user"].username == "ada"
    assert signed_in.cookies[settings.SESSION_COOKIE_NAME].value == cookie


def test_health_tells_process_from_dependency(outage, visitor):
    assert visitor.get("/readyz").json()["status"] == "ok"
    outage.stop()
    assert visitor.get("/healthz").status_code == 200
    response = visitor.get("/readyz")
    assert response.status_code == 503
    body = response.json()
    reason = "ClusterAwayError" if ON_CLUSTER else "ConnectionError"
    assert body["checks"]["redis"] == {"status": "failed", "reason": reason}
    assert body["checks"]["sql"]["status"] == "ok"
    outage.start()
    assert visitor.get("/readyz").status_code == 200
