"""One form for each thing: names, moments, codes, rows; in answers, events and files alike."""

import json
import re

import pytest

from leaderboard.closing import seasons
from leaderboard.files import standings
from leaderboard.live.boards import HtmlSource, JsonSource
from leaderboard.live.topic import Picture
from leaderboard.log.consumer import Consumer
from sessions_app import flags
from sessions_app.models import Flag
from tests.leaderboard.support import ACTOR, open_board, submit

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
NAMED = {"at", "opens", "closes", "closed_at", "expires"}


def moments(value):
    """All that an answer says of time."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in NAMED and inner is not None:
                yield inner
            else:
                yield from moments(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from moments(inner)


# ---- files ---------------------------------------------------------------------------------------


@pytest.fixture
def exported(db):
    """A board with everything that a row can have."""
    board = open_board("first", subscore_order="asc", groups=["country"])
    submit(board, "ada", 30, subscore=2, details={"name": "Ada", "country": "GB"})
    submit(board, "bob", 30, details={"name": "Bob", "country": ""})
    submit(board, "é/ 1", -0.5)
    return board


@pytest.mark.parametrize("form", ["ndjson", "json"])
@pytest.mark.parametrize("archived", [False, True], ids=["running", "archived"])
def test_an_exported_file_can_be_posted_as_it_is(api, exported, form, archived):
    board = open_board("second", subscore_order="asc", groups=["country"])
    rows = standings.live_entries(exported, 1)
    if archived:
        season = seasons.close_season(board=exported, actor=ACTOR)
        rows = standings.archived_entries(season)
    body = "".join(standings.written(rows, form)).encode()
    kind = "application/x-ndjson" if form == "ndjson" else "application/json"
    answer = api.call(
        "POST", "boards/second/scores/bulk", body=body, headers={"Content-Type": kind}
    )
    assert (answer.status_code, answer.json()["refused"]) == (200, 0), answer.text
    again = "".join(standings.written(standings.live_entries(board, 1), form))
    assert again.encode() == body


def test_a_player_has_the_same_name_everywhere(api, exported):
    (entry, *_) = standings.live_entries(exported, 1)
    row = json.loads("".join(standings.written([entry], "ndjson")))
    assert row["player"] == "ada"
    assert "player_id" not in row
    header = next(iter(standings.written([entry], "csv"))).splitlines()[0]
    assert header.split(",")[:3] == ["rank", "player", "score"]
    everything = [
        api.get("boards/first/entries").json(),
        api.get("boards/first/players/ada").json(),
        api.post("boards/first/entries/among", {"players": ["ada"]}).json(),
        api.get("boards/first/players/ada/history").json(),
    ]
    text = json.dumps(everything)
    assert "user_id" not in text
    assert "player_id" not in text


# ---- moments -------------------------------------------------------------------------------------


def test_every_moment_has_the_same_form(api, exported):
    Flag.objects.update_or_create(name="nearby", defaults={"state": Flag.State.ON})
    flags.forget()
    reader = Consumer("test")
    reader.run_once()  # joins the group
    reader.run_once()
    place = {"lat": 52.5, "lon": 13.4}
    answers = [
        api.get("boards/first").json(),
        api.call("PUT", "boards/first/players/ada/location", json=place).json(),
        api.get("boards/first/players/ada/history").json(),
        api.post("boards/first/seasons/close", {"open_next": True}).json(),
        api.get("boards/first/seasons").json(),
    ]
    found = list(moments(answers))
    assert len(found) == 6
    for moment in found:
        assert MOMENT.fullmatch(moment), moment


@pytest.mark.parametrize("source", [JsonSource, HtmlSource])
def test_live_events_have_it_too(exported, source):
    sent = source(exported, "", *(["en"] if source is HtmlSource else []))
    event = json.loads(sent.encode(None, Picture(season=1, state="open")))
    assert MOMENT.fullmatch(event["at"])


# ---- errors --------------------------------------------------------------------------------------

LONG = "x" * 300  # characters
WIDE = "é" * 200  # 400 bytes, 200 characters


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", "scores", {"player": "", "score": 1}, "player"),
        ("POST", "scores", {"player": LONG, "score": 1}, "player"),
        ("POST", "scores", {"player": WIDE, "score": 1}, "player"),
        ("POST", "scores", {"player": "a\tb", "score": 1}, "player"),
        ("POST", "scores", {"player": "ada", "score": "9"}, "score"),
        ("POST", "scores", {"player": "ada", "score": 1, "operator": "max"}, "operator"),
        ("POST", "scores", {"player": "ada", "score": 1, "details": {"a": "\0"}}, "details"),
        ("POST", "scores", {"player": "ada", "score": 1, "details": {"country": "?"}}, None),
        ("POST", "entries/among", {"players": [WIDE]}, "player"),
        ("GET", f"players/{WIDE}", None, "player"),
        ("GET", "players/%ff", None, "player"),
        ("GET", "entries?limit=0", None, "limit"),
        ("GET", "entries?window=day&period=2026-99-99", None, "period"),
        ("GET", "entries?window=day&period=2026-11-16-and-more", None, "period"),
        ("GET", "entries?cursor=x", None, "cursor"),
        ("GET", "entries/range?low=2&high=1", None, "low"),
    ],
)
def test_a_value_that_cannot_be_has_one_code(api, board, method, path, body, field):
    answer = api.call(method, f"boards/cup/{path}", json=body)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "invalid_value"), problem
    assert field is None or problem["field"].startswith(field)


def test_too_many_details_have_one_code(api, board):
    submit(board, "ada", 1)
    many = {f"d{number}": "x" for number in range(33)}
    answers = [
        api.post("boards/cup/scores", {"player": "ada", "score": 1, "details": many}),
        api.call("PATCH", "boards/cup/players/ada", json={"details": many}),
    ]
    assert [answer.json()["code"] for answer in answers] == ["too_many_details"] * 2


def test_every_error_of_a_row_says_which_row(api, board):
    lines = [
        b'{"player": "ada", "score": 1}',
        b"",
        b'{"player": "bob", "score": ',
        b'{"player": "cy"}',
        b'{"player": "di", "score": 1, "score": 2}',
        b'{"player": "' + b"x" * 70_000 + b'", "score": 1}',
        b"7",
    ]
    answer = api.call(
        "POST",
        "boards/cup/scores/bulk?report=errors",
        body=b"\n".join(lines),
        headers={"Content-Type": "application/x-ndjson"},
    )
    errors = [one["error"] for one in answer.json()["results"]]
    assert [(error["row"], error["code"]) for error in errors] == [
        (1, "malformed_json"),
        (2, "missing_field"),
        (3, "duplicate_field"),
        (4, "row_too_large"),
        (5, "invalid_value"),
    ]
    for error in errors:
        assert error["field"].split(".")[0] == str(error["row"])
