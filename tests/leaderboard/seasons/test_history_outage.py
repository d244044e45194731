"""Past seasons are in SQL, and are shown while Redis is away."""

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client

from leaderboard.closing import seasons
from leaderboard.models import ApiKey
from tests.leaderboard.support import ACTOR, forget_seasons, open_board, submit
from tests.servers import OWN_CACHE

pytestmark = pytest.mark.django_db(transaction=True)

PAGES = ["/boards/cup/seasons/", "/boards/cup/seasons/1/", "/boards/cup/seasons/1/?format=csv"]
API = ["/api/v1/boards/cup/seasons", "/api/v1/boards/cup/seasons/1/standings"]


@pytest.fixture
def cup():
    forget_seasons()
    board = open_board()
    submit(board, "ada", 30, details={"name": "Ada Lovelace"})
    seasons.close_season(board=board, actor=ACTOR)
    return board


@pytest.fixture
def away(redis_server, cup):
    """Redis is stopped, and the cache with it; both run again afterwards."""
    servers = [server for server in (redis_server, OWN_CACHE) if server]

    def stop():
        for server in servers:
            server.stop()

    yield stop
    for server in servers:
        if not server.answers():
            server.start()


@pytest.fixture
def visitor():
    return Client(raise_request_exception=False)


@pytest.mark.parametrize("warm", [True, False], ids=["read before", "never read"])
@pytest.mark.parametrize("address", PAGES + API)
def test_anybody_reads_past_seasons(away, visitor, address, warm):
    if warm:
        assert visitor.get(address).status_code == 200
    away()
    answer = visitor.get(address)
    assert answer.status_code == 200
    assert "Ada Lovelace" in answer.getvalue().decode()


@pytest.mark.parametrize("address", PAGES)
def test_who_is_signed_in_reads_them_as_anybody_and_stays_signed_in(away, visitor, address):
    user = get_user_model().objects.create_user("ada", password="correct horse")
    visitor.force_login(user)
    away()
    answer = visitor.get(address)
    assert answer.status_code == 200
    assert "Ada Lovelace" in answer.getvalue().decode()
    assert settings.SESSION_COOKIE_NAME not in answer.cookies
    assert "no-store" in answer["Cache-Control"]


def test_a_key_reads_those_of_a_private_board(away, cup, visitor):
    cup.visibility = "private"
    cup.save()
    _, token = ApiKey.make("game", ["read"], boards=[cup])
    away()
    for address in API:
        assert visitor.get(address).status_code == 404
        answer = visitor.get(address, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200


@pytest.mark.parametrize("address", PAGES)
def test_those_of_a_private_board_stay_private(away, cup, visitor, address):
    cup.visibility = "private"
    cup.save()
    visitor.force_login(get_user_model().objects.create_superuser("root", password="x"))
    away()
    answer = visitor.get(address)
    assert answer.status_code in (404, 503)
    assert "Ada" not in answer.content.decode()


def test_the_board_itself_still_says_that_redis_is_away(away, visitor):
    away()
    assert visitor.get("/boards/cup/").status_code == 503
    assert visitor.get("/api/v1/boards/cup/entries").status_code == 503
