"""Sample data is the same twice, and looks like months of play."""

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from leaderboard.boards.changing import forget_keys, rebuild_board
from leaderboard.boards.size_limit import set_size_limit
from leaderboard.log import consumer
from leaderboard.models import Board, Player, ScoreEvent, Season
from leaderboard.sample.catalogue import CATALOGUE
from leaderboard.seasons import history, pointer
from sessions_app.models import Flag
from tests.leaderboard.commands import refused, run
from tests.leaderboard.support import ACTOR, open_board, submit

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "VAR_DIR", tmp_path)


def seed(**options):
    call_command("seed", **{"players": 30, "verbosity": 0, "yes": True} | options)


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
        past = history.season_list(board)
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
    assert "is left as it is" in capsys.readouterr().out
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
        assert rebuild_board(board=board, actor=ACTOR, check=True).count == 0, board.slug
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


def store_log():
    reader = consumer.Consumer()
    reader.run_once()  # makes the group
    reader.run_once()


def test_removing_leaves_nothing_of_the_samples(redis_client, django_capture_on_commit_callbacks):
    before = set(redis_client.keys("leaderboard:*"))
    seed(boards=6)
    submit(Board.objects.get(slug="neon-drift-2"), "guest-1", 5)
    store_log()
    assert Player.objects.filter(pk="guest-1").exists()
    with django_capture_on_commit_callbacks(execute=True):
        assert "neon-drift-2" in run("seed", "--remove", "--yes")
    assert not Board.objects.exists()
    assert not ScoreEvent.objects.exists()
    assert not Player.objects.exists()
    assert set(redis_client.keys("leaderboard:*")) == before


def test_removing_takes_nothing_that_somebody_made():
    seed(boards=2)
    own = open_board("cup")
    submit(own, "player-1", 5)
    submit(own, "ada", 5)
    demo = open_board("my-own-demo", submitters="demo")
    taken_over = Board.objects.get(slug="sales-floor")
    Board.objects.filter(pk=taken_over.pk).update(submitters="api")
    store_log()
    Player.objects.create(pk="player-900", display_name="Mira")
    Player.objects.filter(pk="player-2").update(account=User.objects.create_user("ben"))
    on_both = {"admin"} | {entry["user_id"] for entry in taken_over.engine().list_all()}
    seed(remove=True)
    assert set(Board.objects.values_list("slug", flat=True)) == {"cup", demo.slug, taken_over.slug}
    assert own.engine().get_size() == 2
    assert set(Player.objects.values_list("pk", flat=True)) == on_both | {"ada", "player-900"}
    seed(remove=True)
    assert Board.objects.count() == 3


def test_the_administrator_of_the_trial_stays_while_nobody_else_administers(tmp_path):
    seed(boards=1)
    seed(remove=True)
    admin = User.objects.get(username="admin")
    assert not hasattr(admin, "player")
    seed(boards=1)
    assert User.objects.get(username="admin").player.pk == "admin"
    User.objects.create_superuser("mira")
    assert "The account admin was deleted" in run("seed", "--remove", "--yes")
    assert not User.objects.filter(username="admin").exists()


def test_an_administrator_with_a_password_of_their_own_stays():
    seed(boards=1)
    User.objects.create_superuser("mira")
    admin = User.objects.get(username="admin")
    admin.set_password("another one, and longer")
    admin.save()
    seed(remove=True)
    assert User.objects.filter(username="admin").exists()


def test_fresh_makes_other_players_too():
    seed(boards=2, seed=5)
    first = set(Player.objects.values_list("display_name", flat=True))
    seed(boards=1, seed=6, fresh=True)
    board = Board.objects.get()
    shown = {entry["metadata"]["name"] for entry in board.engine().list_all()}
    assert set(Player.objects.values_list("display_name", flat=True)) == shown != first


def test_a_board_of_ones_own_with_a_sample_name_is_left_alone():
    own = open_board("neon-drift")
    submit(own, "ada", 5)
    said = run("seed", "--fresh", "--boards", "1", "--players", "5", "--yes")
    assert "neon-drift exists and is left as it is (it is not a sample board)" in said
    assert own.engine().get_size() == 1


def test_deleting_asks_first():
    seed(boards=1)
    for option in ("--remove", "--fresh"):
        assert refused("seed", option).startswith("Delete neon-drift with all scores")
    assert Board.objects.count() == 1


def test_the_reset_of_the_console_gives_what_the_first_start_gave(client):
    seed(players=200)
    for slug in [sample.slug for sample in CATALOGUE]:
        board = Board.objects.get(slug=slug)
        first = everything(board)
        submit(board, "visitor", 1)
        set_size_limit(board=board, limit=3, actor=ACTOR)
        answer = client.post(f"/boards/{slug}/console/", {"operation": "reset", "sure": "on"})
        assert answer.status_code == 200
        assert everything(board) == first, slug
        board.refresh_from_db()
        assert board.max_entries is None


def test_the_reset_of_a_demo_board_of_ones_own_fills_it_too(client):
    board = open_board("my-own-demo", submitters="demo")
    client.post("/boards/my-own-demo/console/", {"operation": "reset", "sure": "on"})
    assert board.engine().get_size() == 201
