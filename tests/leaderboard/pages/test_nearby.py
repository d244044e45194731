"""The page of players near me."""

import pytest
from django.contrib.auth.models import User

from leaderboard.boards import nearby
from leaderboard.boards.enrolment import ensure_player
from sessions_app import flags
from sessions_app.models import Flag
from tests.leaderboard.support import open_board, submit

pytestmark = pytest.mark.django_db
PAGE = "/boards/cup/nearby/"


@pytest.fixture
def board():
    Flag.objects.update_or_create(name="nearby", defaults={"state": Flag.State.ON})
    flags.forget()
    board = open_board()
    submit(board, "ada", 12, details={"name": "<b>Ada</b>"})
    nearby.share(board, "ada", 52.52, 13.40)
    yield board
    flags.forget()


def test_without_its_flag_there_is_no_page(client, board):
    Flag.objects.update(state=Flag.State.OFF)
    flags.publish()
    flags.forget()
    assert client.get(PAGE).status_code == 404


def test_it_asks_for_a_place_and_shows_who_is_there(client, board):
    assert "Use my location" in client.get(PAGE).content.decode()
    page = client.get(PAGE, {"lat": "52.5", "lon": "13.4", "radius": "10"}).content.decode()
    assert "&lt;b&gt;Ada&lt;/b&gt;" in page
    assert "2.2 km" in page
    empty = client.get(PAGE, {"lat": "0", "lon": "0"}).content.decode()
    assert "Nobody has shared a location there" in empty
    assert 'name="radius" value="50"' in empty


@pytest.mark.parametrize("lat", ["91", "north", "nan", "", "1e400"])
def test_a_place_that_is_none_is_said_so(client, board, lat):
    answer = client.get(PAGE, {"lat": lat, "lon": "0"})
    assert answer.status_code == 200
    assert "Ada" not in answer.content.decode()


def test_a_player_shares_a_place_and_takes_it_back(client, board):
    user = User.objects.create_user("bob")
    client.force_login(user)
    player = ensure_player(user=user)
    submit(board, player.pk, 5)
    client.post(PAGE, {"lat": "48.137154", "lon": "11.576124"})
    (found,) = nearby.find(board, *nearby.rounded(48.137154, 11.576124), radius=1)
    assert (found.player_id, found.distance < 0.01) == (player.pk, True)
    assert "Delete my location" in client.get(PAGE).content.decode()
    client.post(PAGE, {"forget": "1"})
    assert nearby.find(board, 48.14, 11.58, radius=1) == []


def test_sharing_needs_an_account(client, board):
    assert client.post(PAGE, {"lat": "1", "lon": "1"}).status_code == 403
