"""Deleted players leave a place and a score in past seasons, and no name."""

import pytest

from leaderboard.boards import marks, moderation, profiles
from leaderboard.closing import rearchive, seasons
from leaderboard.files import standings
from leaderboard.log import rebuild
from leaderboard.models import AuditEntry, FinalStanding, Player, Season
from leaderboard.seasons import history
from leaderboard.worker import clock
from tests.leaderboard.support import ACTOR, forget_seasons, open_board, submit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _new_process():
    forget_seasons()
    marks._seen.clear()


@pytest.fixture
def ada():
    return Player.objects.create(pk="ada", display_name="Ada Lovelace", team="Engine")


@pytest.fixture
def board(ada):
    board = open_board()
    submit(board, "ada", 5, details={"name": "Ada Lovelace", "team": "Engine"})
    submit(board, "bob", 3, details={"name": "Bob"})
    return board


def delete(player):
    profiles.delete_player(player=Player.objects.get(pk=player.pk), actor=ACTOR)


def row(board):
    (first, _) = history.season_page(board, 1).rows
    return first


UNNAMED = {
    "position": 1,
    "rank": 1,
    "player_id": "",
    "name": "Anonymous",
    "score": 5.0,
    "subscore": None,
    "details": {},
    "masked": True,
}


@pytest.mark.parametrize("before", ["shown", "anonymous", "opted_out", "banned", "hidden"])
def test_no_name_comes_back_with_the_deletion(client, board, ada, before):
    seasons.close_season(board=board, actor=ACTOR, open_next=True)
    if before == "banned":
        moderation.ban_player(player_id="ada", reason="x", actor=ACTOR)
    elif before == "hidden":
        moderation.hide_player(player_id="ada", reason="x", actor=ACTOR, board=board)
    else:
        profiles.update_profile(player=ada, privacy=before)
    history.season_page(board, 1)
    delete(ada)
    assert row(board) == UNNAMED
    assert history.season_list(board)[0]["podium"][0] == UNNAMED
    pages = ["seasons/", "seasons/1/", "seasons/1/?format=csv", "together/", "seasons/1/?q=ada"]
    for page in pages:
        answer = client.get(f"/boards/cup/{page}")
        shown = b"".join(answer) if answer.streaming else answer.content
        assert b"Lovelace" not in shown, page
        assert b"Engine" not in shown, page
        assert b"players/ada" not in shown, page
    assert client.get("/boards/cup/players/ada/").status_code == 404
    assert client.get("/api/v1/boards/cup/players/ada/history").status_code == 404
    stored = FinalStanding.objects.get(player_id="ada")
    assert (stored.name, "Lovelace" in str(stored.details)) == ("", False)
    (exported, _) = standings.archived_entries(Season.objects.get(number=1))
    assert exported.details == {}
    assert AuditEntry.objects.get(action="player.delete").data == {"unnamed_standings": 1}


def test_nobody_finds_a_deleted_player_by_id(board, ada):
    seasons.close_season(board=board, actor=ACTOR)
    delete(ada)
    assert history.season_page(board, 1, search="ada").rows == []


def test_a_season_that_is_archived_after_the_deletion_does_not_name_the_player(board, ada):
    seasons.close_season(board=board, actor=ACTOR, archive_now=False, open_next=True)
    delete(ada)
    clock.archive_waiting()
    assert row(board) == UNNAMED


def test_a_season_that_is_archived_again_does_not_name_the_player(board, ada):
    rebuild.drain(board, 5)
    seasons.close_season(board=board, actor=ACTOR, open_next=True)
    delete(ada)
    submit(board, "ada", 9, details={"name": "Somebody else"})
    rebuild.drain(board, 5)
    assert Player.objects.filter(pk="ada").exists()
    FinalStanding.objects.filter(player_id="bob").update(score=4)
    assert rearchive.rebuild_season(board=board, number=1, actor=ACTOR).swapped
    assert row(board) == UNNAMED


def test_who_comes_back_in_the_same_season_is_named_in_it(board, ada):
    delete(ada)
    submit(board, "ada", 9, details={"name": "Ada again"})
    rebuild.drain(board, 5)
    seasons.close_season(board=board, actor=ACTOR)
    assert row(board)["name"] == "Ada again"
