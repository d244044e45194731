"""The pages of past seasons and of notices, as a reader sees them."""

import csv
import io
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from leaderboard.boards import profiles
from leaderboard.closing import seasons
from leaderboard.models import Board, Player, Season
from leaderboard.notices import delivery
from tests.leaderboard.support import ACTOR, forget_seasons, open_board, submit

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh():
    forget_seasons()
    cache.clear()


@pytest.fixture
def board():
    board = open_board(ranking="competition", schedule="monthly", unit="pts")
    for number in range(120):
        submit(board, f"p{number}", 1000 - number // 2, details={"name": f"Name {number}"})
    seasons.close_season(board=board, actor=ACTOR)
    return board


def test_the_list_shows_each_champion(board, client):
    page = client.get("/boards/cup/seasons/").content.decode()
    assert "Name 0" in page
    assert "1,000" in page
    assert 'href="/boards/cup/seasons/1/"' in page


def test_a_board_without_past_seasons_says_so(client):
    open_board("new")
    assert "No season has ended yet" in client.get("/boards/new/seasons/").content.decode()


def test_a_season_has_podium_pages_and_search(board, client):
    first = client.get("/boards/cup/seasons/1/").content.decode()
    assert "Podium" in first
    assert "Name 49" in first
    assert "Name 50" not in first
    third = client.get("/boards/cup/seasons/1/?page=3").content.decode()
    assert "Name 119" in third
    assert "Podium" not in third
    found = client.get("/boards/cup/seasons/1/?q=name 11").content.decode()
    assert "11 players found" in found
    assert "Name 110" in found


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/boards/cup/seasons/9/", 404),
        ("/boards/cup/seasons/1/?page=0", 404),
        ("/boards/cup/seasons/1/?page=x", 404),
        ("/boards/cup/seasons/1/?page=99", 302),
        ("/boards/cup/seasons/2/", 302),
        ("/boards/none/seasons/", 404),
        ("/boards/cup/seasons/1/?q=" + "x" * 10_000, 200),
        ("/boards/cup/seasons/1/?q=%00", 200),
    ],
)
def test_odd_addresses(board, client, address, status):
    assert client.get(address).status_code == status


def test_a_private_board_keeps_its_past_private(board, client):
    Board.objects.update(visibility="private")
    assert client.get("/boards/cup/seasons/").status_code == 404
    assert client.get("/boards/cup/seasons/1/?format=csv").status_code == 404


def test_the_csv_holds_everyone(board, client):
    answer = client.get("/boards/cup/seasons/1/?format=csv")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert 'filename="cup-' in answer["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.getvalue().decode())))
    assert len(rows) == 120
    assert (rows[1]["rank"], rows[1]["name"]) == ("1", "Name 1")


@pytest.mark.parametrize("privacy", ["anonymous", "opted_out"])
@pytest.mark.django_db(transaction=True)
def test_who_does_not_want_to_be_named_is_not(board, client, privacy):
    client.get("/boards/cup/seasons/1/")
    player = Player.objects.create(id="p3", display_name="Name 3")
    profiles.update_profile(player=player, privacy=privacy)
    page = client.get("/boards/cup/seasons/1/").content.decode()
    assert ">Name 3<" not in page
    assert "Anonymous" in page
    assert "0 players found" in client.get("/boards/cup/seasons/1/?q=p3").content.decode()
    text = client.get("/boards/cup/seasons/1/?format=csv").getvalue().decode()
    assert "Name 3," not in text
    assert "p3," not in text


@pytest.mark.django_db(transaction=True)
def test_two_hundred_first_readers_cause_one_look_at_the_standings(board, monkeypatch):
    season = Season.objects.get(number=1)
    loads = []
    history = sys.modules["leaderboard.seasons.history"]
    real = history._load_page

    def counted(*args):
        loads.append(1)
        return real(*args)

    monkeypatch.setattr(history, "_load_page", counted)

    def read(_):
        try:
            return history.season_page(board, season.number).total
        finally:
            connections.close_all()

    with ThreadPoolExecutor(200) as readers:
        assert set(readers.map(read, range(200))) == {120}
    assert len(loads) == 1


def test_a_second_reader_asks_for_no_standings(board, client):
    client.get("/boards/cup/seasons/1/")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        client.get("/boards/cup/seasons/1/")
    assert not [query for query in queries if "finalstanding" in query["sql"]]


def test_notices_are_listed_and_read_once(board):
    user = User.objects.create_user("ada")
    Player.objects.create(id="p5", account=user)
    client = Client()
    client.force_login(user)
    assert "Nothing new" in client.get("/accounts/notices/").content.decode()
    Player.objects.create(id="bob", display_name="Bob")
    delivery.overtaken(board, "p5", by="bob", rank=7)
    assert "unread" in client.get("/boards/cup/seasons/").content.decode()
    page = client.get("/accounts/notices/").content.decode()
    assert "Bob overtook you on Cup. You are now at rank 7." in page
    assert "New</span>" in page
    assert "New</span>" not in client.get("/accounts/notices/").content.decode()
    assert delivery.unread_count("p5") == 0


def test_notices_are_for_those_who_are_signed_in(client):
    answer = client.get("/accounts/notices/")
    assert answer.status_code == 302
    assert answer["Location"].startswith("/accounts/login/")
