"""Details and subscores through the API: what is kept, removed and refused."""

import json

import pytest

from leaderboard.boards import moderation
from leaderboard.files import scores
from tests.leaderboard.api.support import Api, make_key
from tests.leaderboard.support import ACTOR, open_board, submit


def details(api, player="ada"):
    return api.get(f"boards/cup/players/{player}").json()["entry"]["details"]


def patch(api, given, player="ada"):
    return api.call("PATCH", f"boards/cup/players/{player}", json={"details": given})


def test_booleans_are_kept_as_the_words_of_json(api, board):
    api.post("boards/cup/scores", {"player": "ada", "score": 1, "details": {"pro": True}})
    patch(api, {"guest": False})
    assert details(api) == {"pro": "true", "guest": "false"}


def test_null_removes_a_detail(api, board):
    given = {"name": "Ada", "team": "red", "level": "7"}
    api.post("boards/cup/scores", {"player": "ada", "score": 1, "details": given})
    api.post("boards/cup/scores", {"player": "ada", "score": 2, "details": {"team": None}})
    assert details(api) == {"name": "Ada", "level": "7"}
    assert patch(api, {"level": None, "nothing": None}).json()["details"] == {"name": "Ada"}
    api.post("boards/cup/scores/bulk", [{"player": "ada", "score": 3, "details": {"name": None}}])
    assert details(api) == {}


def test_a_removed_detail_leaves_its_group(api, db):
    board = open_board(groups=["team"])
    submit(board, "ada", 1, details={"team": "red"})
    assert api.get("boards/cup/groups/team/red/entries").json()["total"] == 1
    patch(api, {"team": None})
    assert api.get("boards/cup/groups/team/red/entries").json()["total"] == 0


def test_removing_what_is_not_there_changes_nothing(api, board):
    submit(board, "ada", 1, details={"name": "Ada"})
    tag = api.get("boards/cup/entries").headers["etag"]
    patch(api, {"team": None})
    assert api.get("boards/cup/entries").headers["etag"] == tag


@pytest.mark.django_db(transaction=True)
def test_the_details_of_a_hidden_player_come_without_a_rank(api, board):
    submit(board, "ada", 5)
    moderation.hide_player(board=board, player_id="ada", actor=ACTOR, reason="Test.")
    answer = patch(api, {"name": "Ada"})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["rank"], answer.json()["score"]) == (None, 5.0)
    document = api.get("openapi.json").json()
    rank = document["components"]["schemas"]["PlayerEntry"]["properties"]["rank"]
    assert {"type": "null"} in rank["anyOf"]


# ---- countries -----------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["gb", "Gb", "GB"])
def test_a_country_is_stored_in_capitals(api, board, given):
    api.post("boards/cup/scores", {"player": "ada", "score": 1, "details": {"country": given}})
    patch(api, {"country": given}, player="ada")
    assert details(api) == {"country": "GB"}


@pytest.mark.parametrize("given", ["UK", "Germany", "D", "ZZ", "ÄÖ", 7, True, " GB"])
def test_what_is_no_country_is_refused(api, board, given):
    row = {"player": "ada", "score": 1, "details": {"country": given}}
    answer = api.post("boards/cup/scores", row)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_value")
    assert answer.json()["field"] == "details.country"
    bulk = api.post("boards/cup/scores/bulk", [{"player": "bob", "score": 1}, row]).json()
    assert (bulk["accepted"], bulk["results"][1]["error"]["field"]) == (1, "1.details.country")
    answer = patch(api, {"country": given}, player="bob")
    assert (answer.status_code, answer.json()["field"]) == (422, "details.country")


def test_one_wrong_country_refuses_an_atomic_bulk(api, board):
    rows = [
        {"player": "ada", "score": 1, "details": {"country": "DE"}},
        {"player": "bob", "score": 1, "details": {"country": "XX"}},
    ]
    answer = api.post("boards/cup/scores/bulk?atomic=true", rows)
    assert (answer.status_code, answer.json()["code"]) == (422, "rows_refused")
    assert [error["row"] for error in answer.json()["errors"]] == [1]
    assert api.get("boards/cup/entries").json()["total"] == 0


def test_no_country_is_fine(api, board):
    for country in ("DE", ""):
        row = {"player": "ada", "score": 1, "details": {"country": country}}
        assert api.post("boards/cup/scores", row).status_code == 200
    assert patch(api, {"country": None}).json()["details"] == {}


def test_files_follow_the_same_rules(board, tmp_path):
    path = tmp_path / "scores.ndjson"
    rows = [
        {"player": "ada", "score": 1, "country": "gb", "details": {"pro": True, "team": None}},
        {"player": "bob", "score": 1, "country": "XX"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    good, bad = scores.read_file(path, "ndjson", board)
    assert dict(good.submission.metadata) == {"country": "GB", "pro": True, "team": None}
    assert "line 2" in str(bad)
    assert "ISO 3166-1" in str(bad)


# ---- subscores -----------------------------------------------------------------------------------


@pytest.mark.parametrize("subscore", ["asc", "desc"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_who_has_no_subscore_ranks_behind_those_who_have_one(api, db, order, subscore):
    open_board(order=order, subscore_order=subscore)
    for player, second in (("none", None), ("minus", -5), ("zero", 0), ("plus", 5)):
        api.post("boards/cup/scores", {"player": player, "score": 7, "subscore": second})
    entries = api.get("boards/cup/entries").json()["entries"]
    ranked = ["plus", "zero", "minus"] if subscore == "desc" else ["minus", "zero", "plus"]
    assert [entry["player"] for entry in entries] == [*ranked, "none"]
    assert entries[-1]["subscore"] is None
    around = api.get("boards/cup/entries/around-rank/4?count=1").json()["entries"]
    assert around[0]["subscore"] is None


# ---- queries -------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", ["season", "all", None])
@pytest.mark.parametrize("path", ["entries", "distribution", "players/ada", "entries/range"])
def test_only_days_weeks_and_months_have_periods(db, path, window):
    api = Api(make_key())
    submit(open_board(windows=["day", "all"]), "ada", 1)
    query = "period=2026-11-16" + (f"&window={window}" if window else "")
    answer = api.get(f"boards/cup/{path}?{query}")
    assert (answer.status_code, answer.json()["field"]) == (422, "period")
