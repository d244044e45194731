import pytest

from ratelimit import policies

VIEWS = [
    "/sync/",
    "/async/",
    "/class/",
    "/async-class/",
    "/api/limited/operation",
    "/api/limited/async-operation",
]


@pytest.fixture(autouse=True)
def _policies(settings):
    settings.ROOT_URLCONF = "tests.ratelimit.urls"
    settings.RATE_LIMITS = {
        "two": "2/hour by ip, fixed window",
        "wide": "100/minute and 1000/day by ip",
        "alone": "1 at once by ip",
    }
    settings.RATE_LIMIT_PREFIXES = {}
    policies.configure()


@pytest.mark.parametrize("path", VIEWS)
def test_a_limited_view_answers_429_over_its_limit(client, path):
    for remaining in (1, 0):
        response = client.get(path)
        assert response.status_code == 200
        assert response["RateLimit-Policy"] == '"two";q=2;w=3600'
        assert response["RateLimit"].startswith(f'"two";r={remaining};t=')
        assert "Retry-After" not in response
    response = client.get(path)
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= 3600
    assert response["RateLimit"].startswith('"two";r=0;t=')


@pytest.mark.parametrize("path", VIEWS)
async def test_it_does_the_same_under_asgi(async_client, path):
    for _ in range(2):
        response = await async_client.get(path)
        assert response.status_code == 200
        assert response["RateLimit-Policy"] == '"two";q=2;w=3600'
    assert (await async_client.get(path)).status_code == 429


def test_an_operation_keeps_its_parameters(client):
    assert client.get("/api/limited/operation?number=5").json() == {"number": 5}
    assert client.get("/api/limited/operation?number=x").status_code == 422


def test_only_the_named_methods_are_counted(client):
    for _ in range(4):
        assert client.get("/post/").status_code == 200
    assert [client.post("/post/").status_code for _ in range(3)] == [200, 200, 429]


def test_only_requests_of_a_kind_are_counted(client):
    assert [client.get("/search/").status_code for _ in range(4)] == [200] * 4
    assert [client.get("/search/?q=ada").status_code for _ in range(3)] == [200, 200, 429]
    assert client.get("/search/").status_code == 200


def test_two_policies_both_show_in_the_headers(client):
    response = client.get("/twice/")
    assert response["RateLimit-Policy"] == (
        '"two";q=2;w=3600, "wide-minute";q=100;w=60, "wide-day";q=1000;w=86400'
    )


@pytest.mark.django_db  # closing a response looks after database connections
def test_a_place_is_held_until_the_stream_is_over(client):
    first = client.get("/stream/")
    assert first["RateLimit-Policy"] == '"alone";q=1;qu="concurrent-requests"'
    assert client.get("/stream/").status_code == 429
    assert b"".join(first.streaming_content) == b"ab"
    first.close()
    assert client.get("/stream/").status_code == 200


def test_a_place_is_given_back_when_the_view_fails(client):
    for _ in range(3):
        response = client.get("/failing/")
        assert response.status_code == 404
        assert "RateLimit" in response


def test_people_get_a_page_that_counts_down(client):
    for _ in range(2):
        client.get("/sync/")
    response = client.get("/sync/", headers={"accept": "text/html"})
    assert response["Content-Type"].startswith("text/html")
    assert f'data-retry-after="{response["Retry-After"]}"' in response.content.decode()
    assert response["Cache-Control"] == "no-store"


def test_machines_get_a_problem_by_the_draft(client):
    for _ in range(2):
        client.get("/sync/")
    response = client.get("/sync/", headers={"accept": "application/json"})
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert body["type"] == "https://iana.org/assignments/http-problem-types#quota-exceeded"
    assert body["violated-policies"] == ["two"]
    assert body["code"] == "rate_limited"
    assert body["status"] == 429
