"""Commands: what they do, and one clear line when they cannot."""

import csv
import io
import json

import pytest
from django.core.cache import cache
from django.core.management import call_command

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.files import standings
from leaderboard.log import rebuild
from leaderboard.management.commands import import_scores
from leaderboard.models import Board, FinalStanding, ScoreEvent, Season
from leaderboard.seasons import pointer
from leaderboard.worker import clock
from sessions_app import presence
from tests.leaderboard.commands import refused, run
from tests.leaderboard.support import forget_seasons, ids, open_board, submit

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _new_process():
    forget_seasons()
    cache.clear()


@pytest.fixture
def board():
    board = open_board(ranking="competition", highest_score=1000)
    submit(board, "ada", 30, details={"name": "Ada", "country": "GB", "level": "7"})
    submit(board, "bob", 20, details={"name": "=cmd()", "team": "Röd, grön"})
    submit(board, "cy", 20)
    return board


@pytest.mark.parametrize(
    "command",
    [
        ["export", "nope"],
        ["rebuild", "nope"],
        ["reset", "nope", "--yes"],
        ["season", "close", "nope"],
        ["import_scores", "nope", "x.csv"],
        ["simulate", "--board", "nope"],
    ],
)
def test_an_unknown_board_is_named_with_those_that_exist(board, command):
    message = refused(*command)
    assert message == "There is no board 'nope'. Choose from: cup."


def test_the_season_command_closes_and_opens(board):
    closed = run("season", "close", "cup")
    assert closed == (
        "Season 1 is closed with 3 players. No season follows until somebody opens one.\n"
    )
    assert "already closed" in refused("season", "close", "cup")
    assert "is open" in run("season", "open", "cup", "--name", "Finals", "--closes", "2099-01-01")
    assert "still open" in refused("season", "open", "cup")
    listed = run("season", "list", "cup").splitlines()
    assert [line.split()[2] for line in listed] == ["closed", "open"]
    assert "Finals" in listed[1]


def test_closing_says_who_played_and_whether_another_season_has_begun():
    board = open_board("daily", schedule="daily")
    submit(board, "ada", 1)
    name = Season.objects.get(board=board).title
    closed = run("season", "close", "daily")
    assert closed == f"{name} is closed with 1 player. The next season has begun.\n"


def test_a_scheduled_contest_is_ended_for_good_after_a_question():
    board = open_board("daily", schedule="daily")
    submit(board, "ada", 1)
    assert "Add --yes" in refused("season", "close", "daily", "--final")
    assert pointer.read(board).is_open
    closed = run("season", "close", "daily", "--final", "--yes")
    assert "1 player. No season follows until somebody opens one." in closed
    clock.Clock().tick()
    assert pointer.read(board).state == "closed"
    assert Season.objects.filter(board=board).count() == 1


def test_the_last_season_cannot_also_begin_the_next():
    open_board("daily", schedule="daily")
    assert "not allowed with" in refused("season", "close", "daily", "--final", "--open-next")


def test_a_rebuild_that_would_lose_entries_needs_a_word(board):
    rebuild.drain(board, 5)
    ScoreEvent.objects.filter(player_id="ada").delete()
    message = refused("rebuild", "cup")
    assert "would lose 1 entry that the score log does not have: ada." in message
    assert message.endswith("Add --allow-loss to rebuild without them.")
    assert board.engine().get_size() == 3
    assert "2 players, 1 differed" in run("rebuild", "cup", "--allow-loss")


@pytest.mark.parametrize("time", ["tomorrow", "2026-13-01 10:00", "12:00"])
def test_a_time_that_is_none_is_refused(board, time):
    assert "is not a time: expected YYYY-MM-DD" in refused("season", "open", "cup", "--opens", time)


def test_a_reset_on_a_pipe_needs_yes(board):
    assert "Add --yes" in refused("reset", "cup")
    assert board.engine().get_size() == 3
    assert run("reset", "cup", "--yes") == "cup is empty.\n"
    assert board.engine().get_size() == 0


def test_a_reset_of_the_season_keeps_what_is_archived(board):
    run("season", "close", "cup", "--open-next")
    submit(board, "di", 1)
    assert "omit --keep-archive" in refused("reset", "cup", "--season", "--keep-archive")
    run("reset", "cup", "--season", "--yes")
    assert FinalStanding.objects.count() == 3
    run("reset", "--yes")
    assert not FinalStanding.objects.exists()
    assert Season.objects.get().number == 1


def test_a_rebuild_checks_and_mends(board):
    rebuild.drain(board, 5)
    assert "agree: 3 players" in run("rebuild", "cup", "--check")
    get_redis().delete(board.engine().entries_key)
    with pytest.raises(SystemExit) as end:
        run("rebuild", "cup", "--check")
    assert end.value.code == 1
    assert "cup was rebuilt: 3 players, 3 differed." in run("rebuild", "cup")
    assert ids(board.engine().get_top(9)) == ["ada", "bob", "cy"]


def test_csv_names_every_column_and_runs_nothing_in_a_spreadsheet(board):
    rows = list(csv.DictReader(io.StringIO(run("export", "cup"))))
    assert [(row["rank"], row["player"], row["score"]) for row in rows] == [
        ("1", "ada", "30"),
        ("2", "bob", "20"),
        ("2", "cy", "20"),
    ]
    assert (rows[0]["name"], json.loads(rows[0]["details"])) == ("Ada", {"level": "7"})
    assert (rows[1]["name"], rows[1]["team"]) == ("'=cmd()", "Röd, grön")


@pytest.mark.parametrize(
    "name",
    [
        "=1+1",
        "-1",
        "\n=1+1",
        "\r\n=1+1",
        "  =1+1",
        "\u00a0@SUM(1)",
        "\ufeff=1+1",
        "\u200b+1",
        "\uff1d1+1",
        " \uff0b1",
        "\uff0d1",
        "\uff20SUM(1)",
        "'=1+1",
        "\tx",
    ],
)
def test_a_name_like_a_formula_is_text_in_csv_and_comes_back_as_it_was(tmp_path, name):
    submit(open_board(), "ada", 1, details={"name": name})
    path = tmp_path / "cup.csv"
    run("export", "cup", "--output", str(path))
    with path.open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["name"] == f"'{name}"
    other = open_board("other")
    run("import_scores", "other", str(path))
    assert other.engine().get_user_metadata("ada")["name"] == name


@pytest.mark.parametrize("name", ["Ann", "'Ann", "O'Neil", " Ann = Bob", "x+y", "", "名前"])
def test_a_harmless_name_is_not_quoted(name):
    submit(open_board(), "ada", 1, details={"name": name})
    (row,) = csv.DictReader(io.StringIO(run("export", "cup"), newline=""))
    assert row["name"] == name


@pytest.mark.parametrize("form", standings.FORMATS)
def test_what_was_exported_can_be_imported(board, tmp_path, form):
    path = tmp_path / f"cup.{form}"
    run("export", "cup", "--format", form, "--output", str(path))
    other = open_board("other", ranking="competition")
    assert "3 of 3 scores" in run("import_scores", "other", str(path))
    seen = [(e["rank"], e["user_id"], e["score"]) for e in other.engine().list_all()]
    assert seen == [(1, "ada", 30.0), (2, "bob", 20.0), (2, "cy", 20.0)]
    assert other.engine().get_user_metadata("ada")["level"] == "7"
    assert other.engine().get_user_metadata("bob")["name"] == "=cmd()"


def test_an_archived_season_is_exported_from_sql(board):
    live = json.loads(run("export", "cup", "--format", "json"))
    run("season", "close", "cup")
    assert json.loads(run("export", "cup", "--season", "1", "--format", "json")) == live
    assert "no season 9" in refused("export", "cup", "--season", "9")


def test_an_empty_board_is_an_empty_list():
    open_board()
    assert json.loads(run("export", "cup", "--format", "json")) == []


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "player_id,score\nada,1\nbob,x\n", "line 3: The score must be a number."),
        ("a.csv", "player_id,score\nada,1,2\n", "line 2: there are more values"),
        ("a.csv", "player,points\nada,1\n", "line 1: the first line must name a column score"),
        ("a.csv", "who,score\nada,1\n", "name a column player or name; it has: who, score"),
        ("a.csv", "Name,Score,name\nada,1,b\n", "line 1: two columns are named name"),
        ("a.csv", "player_id,score\n,1\n", "line 2: the player is missing"),
        ("a.csv", "player;score\nada;1\nbob;12,5\n", "line 3: the score 12,5 has a comma"),
        ("a.csv", "player,country\nada,GB\nbob,Germany\n", "line 3: "),
        ("a.csv", "player,score\n\n\nada,1\n,1\n", "line 5: the player is missing"),
        ("a.csv", "player,score\n", "has no lines to import"),
        ("a.ndjson", '{"player_id": "ada", "score": 1}\n\n{"player_id"\n', "line 3: not JSON"),
        ("a.ndjson", '{"player_id": "ada", "score": 5000}\n', "above the board's highest"),
        ("a.ndjson", '{"player_id": 7, "score": 5}\n', "line 1: the player is missing or not text"),
        ("a.ndjson", "[" * 100_000, "line 1: not JSON: brackets"),
        ("a.json", '[{"player_id": "ada", "score": 1},\n 3]', "line 2: expected an object"),
        ("a.json", '[\n\n{"player":\n"ada"},\n{"score": 1}]', "line 5: the player is missing"),
        ("a.json", '[\n{"player_id": "ada", "score": 1}\n{}]', "line 3: not JSON"),
        ("a.json", '[{"player_id": "ada", "score": 1}]\n]', "line 2: not JSON: Extra data"),
        ("a.json", "[" * 100_000, "line 1: not JSON: brackets"),
        ("a.json", '{"player_id"', "line 1: not JSON"),
        ("a.json", '{"player_id": "ada"}', "expected a list"),
        ("a.json", '[{"player_id": "ada", "score": 1, "subscore": 2}]', "no second number"),
        ("a.txt", "x", "add --format"),
    ],
)
def test_a_broken_line_is_named_and_nothing_is_submitted(board, tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    assert message in refused("import_scores", "cup", str(path))
    assert board.engine().get_size() == 3
    assert board.engine().get_user_entry("ada")["score"] == 30


def test_a_file_that_is_not_there(board, tmp_path):
    path = tmp_path / "none.csv"
    assert refused("import_scores", "cup", str(path)) == (
        f"Cannot read {path}: No such file or directory."
    )


@pytest.mark.parametrize("text", [b"ada,1,\nbob,2,J\xfcrgen\n", b"ada,1,\n\xff\xfe,1,\n"])
def test_bytes_that_are_no_text_are_named_by_line(board, tmp_path, text):
    path = tmp_path / "bytes.csv"
    path.write_bytes(b"player_id,score,name\n" + text)
    assert "line 3: Text must be valid Unicode." in refused("import_scores", "cup", str(path))


def test_a_dry_run_submits_nothing(board, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("player_id,score\ndi,1\n")
    assert "is valid: 1 with a score, 0 without" in run(
        "import_scores", "cup", str(path), "--dry-run"
    )
    assert board.engine().get_size() == 3


def test_an_import_that_broke_off_goes_on_and_counts_once(tmp_path, monkeypatch):
    board = open_board(operator="sum")
    path = tmp_path / "a.csv"
    path.write_text("player_id,score\n" + "".join(f"p{n % 5},1\n" for n in range(40)))
    monkeypatch.setattr(import_scores, "BATCH", 10)
    calls = []
    real = import_scores.submit_scores

    def broken(**values):
        calls.append(1)
        result = real(**values)
        if len(calls) == 3:
            raise KeyboardInterrupt  # after the batch was submitted, before it was marked
        return result

    monkeypatch.setattr(import_scores, "submit_scores", broken)
    with pytest.raises(KeyboardInterrupt):
        run("import_scores", "cup", str(path))
    assert "Resuming after 20 of 40" in run("import_scores", "cup", str(path))
    assert {e["score"] for e in board.engine().list_all()} == {8.0}
    assert "already" in run("import_scores", "cup", str(path))
    assert sum(e["score"] for e in board.engine().list_all()) == 40


def test_an_import_goes_on_after_days_and_counts_once(tmp_path, monkeypatch):
    board = open_board(operator="sum")
    path = tmp_path / "a.csv"
    path.write_text("player_id,score\n" + "".join(f"p{n % 5},1\n" for n in range(40)))
    monkeypatch.setattr(import_scores, "BATCH", 20)
    real = import_scores.submit_scores

    def broken(**values):
        real(board=values["board"], rows=values["rows"][:15])
        raise KeyboardInterrupt

    monkeypatch.setattr(import_scores, "submit_scores", broken)
    with pytest.raises(KeyboardInterrupt):
        run("import_scores", "cup", str(path))
    monkeypatch.setattr(import_scores, "submit_scores", real)
    rebuild.drain(board, 5)
    for key in get_redis().scan_iter(match=f"{board.key}:once:*"):
        get_redis().delete(key)  # as a day does
    assert "40 of 40 scores" in run("import_scores", "cup", str(path))
    assert {e["score"] for e in board.engine().list_all()} == {8.0}


def test_the_same_file_counts_again_after_a_reset_and_in_another_season(tmp_path):
    board = open_board(operator="sum")
    path = tmp_path / "a.csv"
    path.write_text("player_id,score\nada,1\nada,2\n")
    run("import_scores", "cup", str(path))
    run("reset", "cup", "--season", "--yes")
    assert "2 of 2 scores" in run("import_scores", "cup", str(path))
    assert board.engine().get_user_entry("ada")["score"] == 3
    assert "already" in run("import_scores", "cup", str(path))
    run("season", "close", "cup", "--open-next")
    assert "2 of 2 scores" in run("import_scores", "cup", str(path))
    assert board.engine().get_user_entry("ada")["score"] == 3


def test_a_simulation_moves_the_board(board):
    before = int(get_redis().get(keys.sequence(board.key)))
    assert refused("simulate") == "There is no demo board; `manage.py seed` creates some."
    Board.objects.update(submitters="demo")
    assert "5 scores submitted" in run("simulate", "--rate", "1000", "--count", "5", "--seed", "1")
    assert int(get_redis().get(keys.sequence(board.key))) == before + 5
    assert "--rate must be" in refused("simulate", "--rate", "0")
    assert pointer.read(board).is_open


def test_a_simulation_asks_before_it_scores_on_a_board_that_is_no_demo(board):
    simulate = ["simulate", "--board", "cup", "--rate", "1000", "--count", "3"]
    assert refused(*simulate) == (
        "cup is not a demo board. Made-up players and scores would be added to it and to its log."
        " Add --yes to confirm."
    )
    assert board.engine().get_size() == 3
    assert "3 scores submitted" in run(*simulate, "--yes")
    Board.objects.update(submitters="demo")
    assert "3 scores submitted" in run(*simulate)


def test_a_try_out_far_above_does_not_draw_the_sample_players_after_it(db):
    engine = (board := open_board("neon-drift", submitters="demo")).engine()
    for number in range(40):
        submit(board, f"player-{number}", 200_000 + 1_000 * number)
    submit(board, "try-out", 9_000_000)
    run("simulate", "--rate", "1000", "--count", "60", "--seed", "1")
    first, second = engine.get_top(2)
    assert first["user_id"] == "try-out"
    assert second["score"] < 2_000_000


def test_a_demo_in_the_background_plays_only_on_boards_that_are_watched(board):
    Board.objects.update(submitters="demo")
    other = open_board("quiet", submitters="demo")
    presence.touch(["visitor:1"], board.slug)
    before = int(get_redis().get(keys.sequence(board.key)))
    run("simulate", "--while-watched", "--rate", "1000", "--count", "5", "--seed", "1")
    assert int(get_redis().get(keys.sequence(board.key))) == before + 5
    assert other.engine().get_size() == 0


def test_a_reader_who_has_seen_enough_is_no_error(board, monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    closed = []
    monkeypatch.setattr("os.dup2", lambda nowhere, stdout: closed.append(stdout))
    with pytest.raises(SystemExit):
        call_command("export", "cup", stdout=Closed())
    assert len(closed) == 1


@pytest.mark.parametrize(
    "command",
    ["seed", "reset", "season", "rebuild", "export", "import_scores", "simulate", "worker"],
)
def test_help_has_examples(command, capsys):
    with pytest.raises(SystemExit) as end:
        call_command(command, "--help")
    assert end.value.code == 0
    assert f"manage.py {command}" in capsys.readouterr().out
