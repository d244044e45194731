"""Files of scores and people, as spreadsheets and programs write them."""

import pytest

from leaderboard.models import Player
from tests.leaderboard.commands import run
from tests.leaderboard.support import ids, open_board, submit

pytestmark = pytest.mark.django_db

SPREADSHEETS = {
    "comma": b"Player,Score\nada,7\nbob,5\n",
    "semicolons": b"PLAYER ID;Score\r\nada;7\r\nbob;5\r\n",
    "tabs": b"player\tSCORE\nada\t7\nbob\t5\n",
    "byte order mark": b"\xef\xbb\xbfplayer;score\nada;7\nbob;5\n",
    "UTF-16": "player\tscore\nada\t7\nbob\t5\n".encode("utf-16"),
    "old line ends": b"player,score\rada,7\rbob,5\r",
    "blank lines": b"\n\nplayer,score\n\nada,7\n,\nbob,5\n\n",
    "other columns": b"place;Name;Player;Score;\n1;Ada;ada;7;\n2;Bob;bob;5;\n",
    "a row number": b"id,player,score\n1,ada,7\n2,bob,5\n",
    "names alone": b"Name,Score\nada,7\nbob,5\n",
    "quotes": b'"player","score"\n"ada","7"\n"bob",5\n',
}


@pytest.mark.parametrize("kind", SPREADSHEETS)
def test_files_as_spreadsheets_save_them_are_read(tmp_path, kind):
    board = open_board()
    path = tmp_path / "scores.csv"
    path.write_bytes(SPREADSHEETS[kind])
    assert "2 of 2 scores are on cup." in run("import_scores", "cup", str(path))
    seen = [(entry["user_id"], entry["score"]) for entry in board.engine().list_all()]
    assert seen == [("ada", 7.0), ("bob", 5.0)]


def test_the_ending_tsv_is_known(tmp_path):
    open_board()
    path = tmp_path / "scores.TSV"
    path.write_text("player\tscore\nada\t7\n")
    assert "1 of 1 scores" in run("import_scores", "cup", str(path))


def test_a_column_of_names_is_shown_and_is_the_id_where_there_is_no_other(tmp_path):
    board = open_board()
    path = tmp_path / "scores.csv"
    path.write_text("player;name;score\nada-1;Ada Lovelace;7\n;Bob;5\n")
    run("import_scores", "cup", str(path))
    first, second = board.engine().list_all()
    assert (first["user_id"], first["metadata"]["name"]) == ("ada-1", "Ada Lovelace")
    assert (second["user_id"], second["metadata"]["name"]) == ("Bob", "Bob")


def test_json_may_name_its_fields_in_any_case_too(tmp_path):
    board = open_board()
    path = tmp_path / "scores.ndjson"
    path.write_text('{"Player": "ada", "SCORE": 7}\n{"name": "Bob", "score": 5}\n')
    run("import_scores", "cup", str(path))
    assert ids(board.engine().list_all()) == ["ada", "Bob"]


def test_people_without_scores_become_players_and_are_not_ranked(tmp_path):
    board = open_board()
    submit(board, "cy", 20)
    Player.objects.create(pk="cy", display_name="Cyrus")
    path = tmp_path / "people.csv"
    path.write_text("Name;Player;Team;Country;Score\nDi;di;Red;gb;\nCy;cy;;;\nEd;ed;;;4\n")
    told = run("import_scores", "cup", str(path))
    assert "1 of 1 scores are on cup." in told
    assert "Players without a score yet: 2." in told
    di = Player.objects.get(pk="di")
    assert (di.display_name, di.team, di.country) == ("Di", "Red", "GB")
    assert Player.objects.get(pk="cy").display_name == "Cyrus"
    assert set(ids(board.engine().list_all())) == {"cy", "ed"}


def test_a_list_of_names_alone_needs_neither_scores_nor_a_season(tmp_path):
    open_board()
    run("season", "close", "cup")
    path = tmp_path / "people.csv"
    path.write_text("Name\nDi\nEd\n")
    assert "Players without a score yet: 2." in run("import_scores", "cup", str(path))
    assert set(Player.objects.values_list("pk", flat=True)) == {"Di", "Ed"}
