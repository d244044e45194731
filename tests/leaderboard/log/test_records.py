"""What games say of their players reaches the players' records in SQL."""

import pytest
from django.contrib.auth import get_user_model

from leaderboard.boards import profiles
from leaderboard.log.consumer import Consumer
from leaderboard.models import Player
from tests.leaderboard.api.support import Api, make_key
from tests.leaderboard.support import forget_seasons, open_board, submit

pytestmark = pytest.mark.django_db

ADA = {"name": "Ada", "country": "GB", "team": "Engines", "avatar": "https://ada.example/a.png"}


@pytest.fixture(autouse=True)
def _new_process():
    forget_seasons()


@pytest.fixture
def board():
    return open_board()


@pytest.fixture
def api(board):
    return Api(make_key("submit"))


def record(player_id):
    """The player's record, once the log is stored."""
    reader = Consumer("one")
    reader.run_once()  # joins the group
    while reader.run_once():
        pass
    player = Player.objects.get(pk=player_id)
    return (player.display_name, player.country, player.team, player.avatar)


def score(api, player, details):
    answer = api.post("boards/cup/scores", {"player": player, "score": 1, "details": details})
    assert answer.status_code == 200, answer.text


def test_a_new_player_has_all_that_was_said(api):
    score(api, "ada", ADA | {"level": 3})
    assert record("ada") == tuple(ADA.values())


def test_the_newest_details_win_and_what_is_not_given_stays(api):
    score(api, "ada", ADA)
    assert record("ada") == tuple(ADA.values())
    score(api, "ada", {"team": "Looms"})
    score(api, "ada", {"team": "Analysts"})
    answer = api.call("PATCH", "boards/cup/players/ada", json={"details": {"name": "Ada L."}})
    assert answer.status_code == 200
    assert record("ada") == ("Ada L.", "GB", "Analysts", ADA["avatar"])


def test_a_detail_that_was_removed_leaves_the_record_too(board):
    submit(board, "ada", 1, details=ADA, source="key:1")
    submit(board, "ada", 2, details={"team": None}, source="key:1")
    assert record("ada") == ("Ada", "GB", "", ADA["avatar"])


def test_what_a_record_cannot_hold_is_left_out_and_the_scores_are_stored(api):
    score(api, "ada", ADA)
    score(api, "ada", {"name": "A" * 70, "avatar": "javascript:alert(1)"})
    assert record("ada") == ("A" * 60, "GB", "Engines", ADA["avatar"])


def test_a_profile_belongs_to_who_signs_in_and_is_only_filled_up(api):
    person = get_user_model().objects.create_user("ada", password="secret-of-ada")
    Player.objects.create(pk="ada", account=person, display_name="Countess", country="FR")
    score(api, "ada", ADA)
    assert record("ada") == ("Countess", "FR", "Engines", ADA["avatar"])


def test_the_mask_of_an_anonymous_player_is_not_taken_for_a_name(api, board):
    player = Player.objects.create(pk="ada", display_name="Ada", country="GB")
    profiles.update_profile(player=player, privacy=Player.Privacy.ANONYMOUS)
    score(api, "ada", {"name": "Ada", "team": "Engines"})
    assert record("ada")[:2] == ("Ada", "GB")


@pytest.mark.parametrize("source", ["console", "profile", ""])
def test_others_than_games_change_no_record_that_is_there(board, source):
    """Anyone may use the console of a demo board."""
    Player.objects.create(pk="ada", display_name="Ada")
    submit(board, "ada", 1, details={"name": "Eve", "team": "Crooks"}, source=source)
    assert record("ada") == ("Ada", "", "", "")
