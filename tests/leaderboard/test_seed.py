"""Sample data is the same twice, and looks like months of play."""

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from leaderboard import pointer, selectors
from leaderboard.models import Board, Player, ScoreEvent, Season
from leaderboard.services.boards import forget_keys, rebuild_board
from sessions_app.models import Flag
from tests.leaderboard.boards import ACTOR, submit

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "VAR_DIR", tmp_path)


def seed(**options):
    call_command("seed", **{"players": 30, "verbosity": 0} | options)


def everything(board):
    return [
        (entry["rank"], entry["user_id"], entry["score"], entry["metadata"])
        for entry in board.engine().list_all()
    ]


def test_five_boards_with_a_running_and_past_seasons():
    seed()
    assert Board.objects.count() == 5
    for board in Board.objects.all():
        assert board.engine().get_size() == 31
        assert pointer.read(board).is_open
        past = selectors.season_list(board)
        assert len(past) >= 3
        assert past[0]["podium"][0]["name"]
        for window in board.windows:
            board.engine().window(window).get_top(3)
        assert ScoreEvent.objects.filter(board=board).exists()
        assert submit(board, "newcomer", 1).rank
    assert Player.objects.count() == 31


def test_the_same_seed_gives_the_same_boards_and_another_one_others():
    seed(boards=2, seed=5)
    first = [everything(board) for board in Board.objects.order_by("slug")]
    seed(boards=2, seed=5, fresh=True)
    assert [everything(board) for board in Board.objects.order_by("slug")] == first
    seed(boards=2, seed=6, fresh=True)
    assert [everything(board) for board in Board.objects.order_by("slug")] != first


def test_boards_that_exist_are_left_alone(capsys):
    seed(boards=1)
    board = Board.objects.get()
    submit(board, "newcomer", 1)
    seed(boards=1, verbosity=1)
    assert "stays as it is" in capsys.readouterr().out
    assert board.engine().get_rank("newcomer")


def test_the_log_tells_how_the_running_season_came_to_be():
    seed(boards=1)
    board = Board.objects.get()
    season = Season.objects.get(board=board, state="open")
    best = {}
    for event in ScoreEvent.objects.filter(board=board, season=season.number):
        best[event.player_id] = max(best.get(event.player_id, 0), event.value)
    assert best == {entry["user_id"]: entry["score"] for entry in board.engine().list_all()}


def test_every_sample_board_can_be_made_again_from_its_log():
    seed()
    for board in Board.objects.all():
        before = list(board.engine().scan())
        forget_keys(board.key)
        rebuild_board(board=board, actor=ACTOR)
        assert list(board.engine().scan()) == before, board.slug


def test_an_administrator_is_made_once_with_a_password_of_their_own(tmp_path):
    # A test that empties the tables takes the flags of the migrations with it.
    Flag.objects.update_or_create(name="nearby", defaults={"state": Flag.State.OFF})
    seed(boards=1)
    admin = User.objects.get(username="admin")
    password = (tmp_path / "demo_password").read_text().strip()
    assert admin.check_password(password)
    assert admin.is_superuser
    assert admin.player.id == "admin"
    assert set(Flag.objects.values_list("state", flat=True)) == {"on"}
    seed(boards=1)
    assert User.objects.count() == 1
    assert (tmp_path / "demo_password").read_text().strip() == password


@pytest.mark.parametrize(("option", "value"), [("--players", "0"), ("--boards", "many")])
def test_a_senseless_number_is_one_clear_line(option, value):
    with pytest.raises(CommandError, match=f"argument {option}: '{value}' is not a whole number"):
        call_command("seed", option, value)
