"""Whatever is sent, the answer is the right 4xx in the product's look, and nothing is written."""

import asyncio
import json

import pytest
from django.test import Client

from config.asgi import application
from tests.asgi import ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor():
    return Client(raise_request_exception=False)


def is_our_page(response):
    text = response.content.decode()
    return "Rostrum" in text and "<main" in text and "Traceback" not in text


def test_an_unknown_path(visitor):
    response = visitor.get("/no/such/page")
    assert response.status_code == 404
    assert is_our_page(response)


def test_an_unknown_path_of_the_api(visitor):
    response = visitor.get("/api/v1/nothing/here")
    assert response.status_code == 404
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["code"] == "not_found"


def test_a_wrong_method(visitor):
    response = visitor.post("/healthz")
    assert response.status_code == 405
    assert response["Allow"] == "GET, HEAD"
    assert is_our_page(response)


def test_an_unknown_host(visitor):
    response = visitor.get("/", headers={"host": "evil.example"})
    assert response.status_code == 400
    assert is_our_page(response)


@pytest.mark.parametrize("cookie", ["", "x", "%00%ff", "a" * 5000, "<script>", '"'])
def test_a_broken_session_cookie(visitor, cookie):
    visitor.cookies["sessionid"] = cookie
    assert visitor.get("/").status_code == 200


def test_a_form_without_its_token():
    response = Client(enforce_csrf_checks=True).post("/accounts/login/", {"username": "a"})
    assert response.status_code == 403
    assert is_our_page(response)
    assert "reload the page" in response.content.decode()


def test_a_malformed_multipart_form(visitor):
    response = visitor.post(
        "/accounts/login/", data=b"--x\r\nbroken", content_type="multipart/form-data; boundary="
    )
    assert response.status_code == 400
    assert is_our_page(response)


def test_a_form_with_too_many_fields(visitor):
    response = visitor.post("/accounts/login/", {f"field{n}": "1" for n in range(2000)})
    assert response.status_code == 400
    assert is_our_page(response)


# ---- over ASGI, where bodies arrive in pieces --------------------------------------------------


def answer(path, **request):
    return asyncio.run(ask(application, path, **request))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ([(b"content-length", b"99999999")], [b"x"]),
        ([(b"content-length", b"minus one")], [b"x"]),
        ([], [b"x" * 1024 * 1024] * 17),
    ],
)
def test_an_oversized_body_is_refused_unread(headers, body):
    refused = answer("/accounts/login/", method="POST", headers=headers, body=body)
    assert refused.status == 413
    assert b"Rostrum" in refused.body


@pytest.mark.django_db(transaction=True)
def test_every_answer_has_a_request_id_and_a_line_in_the_log(caplog):
    with caplog.at_level("INFO", "rostrum.access"):
        missing = answer("/no/such/page")
    record = next(record for record in caplog.records if record.name == "rostrum.access")
    assert missing.header(b"x-request-id").decode() == record.id
    assert (record.method, record.path, record.status) == ("GET", "/no/such/page", 404)


@pytest.mark.django_db(transaction=True)
def test_a_proxys_request_id_is_kept_and_a_forged_one_is_not():
    kept = answer("/healthz", headers=[(b"x-request-id", b"from-the-proxy-1")])
    assert kept.header(b"x-request-id") == b"from-the-proxy-1"
    forged = answer("/healthz", headers=[(b"x-request-id", b"a\nstatus=200")])
    assert b"\n" not in forged.header(b"x-request-id")


def test_a_log_line_cannot_be_forged():
    import logging

    from config.logs import LineFormatter

    record = logging.makeLogRecord({"msg": "", "name": "rostrum.access", "path": '/a\n2026 x="1"'})
    line = LineFormatter().format(record)
    assert "\n" not in line
    assert json.dumps("x") not in line


def test_metrics_are_in_prometheus_form(visitor):
    response = visitor.get("/metrics")
    assert response.status_code == 200
    assert b"# HELP" in response.content


def test_a_missing_file_gets_a_short_answer(client):
    answer = client.get("/static/nothing.css", headers={"accept": "text/html"})
    assert answer.status_code == 404
    assert answer["Content-Type"] == "text/plain"
    assert len(answer.content) < 100
