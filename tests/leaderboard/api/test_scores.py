"""Submitting scores, one and many."""

import json

import pytest

from leaderboard.boards import moderation, scores
from leaderboard.closing import seasons
from tests.leaderboard.support import ACTOR, open_board


def score(api, player, value, board="cup", **more):
    return api.post(f"boards/{board}/scores", {"player": player, "score": value, **more})


def test_a_score_lands_on_the_board(api, board):
    answer = score(api, "ada", 120)
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "player": "ada",
        "season": 1,
        "rank": 1,
        "score": 120.0,
        "previous_rank": None,
        "previous_score": None,
        "changed": True,
        "sequence": answer.json()["sequence"],
        "trimmed": [],
    }
    assert board.engine().get_user_entry("ada")["score"] == 120.0
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["ratelimit-policy"].startswith('"api_key";q=')
    assert answer.headers["ratelimit"].startswith('"api_key";r=')
    assert answer.headers["x-request-id"]


def test_operator_subscore_and_details_are_honoured(api, db):
    board = open_board(subscore_order="asc")
    score(api, "ada", 10, subscore=3, details={"name": "Ada", "level": 7, "pro": True})
    answer = score(api, "ada", 5, operator="sum", subscore=2)
    assert answer.json()["score"] == 15.0
    assert answer.json()["subscore"] == 2.0
    assert board.engine().get_user_metadata("ada")["name"] == "Ada"


@pytest.mark.parametrize("player", ["a/b", "Zoë 🦊", "a:b{c}", "%41", "a b", "?x#y"])
def test_any_text_is_an_id(api, board, player):
    from urllib.parse import quote

    assert score(api, player, 5).status_code == 200
    shown = api.get(f"boards/cup/players/{quote(player, safe='')}")
    assert shown.json()["entry"]["player"] == player
    changed = api.call(
        "PATCH", f"boards/cup/players/{quote(player, safe='')}", json={"details": {"name": "N"}}
    )
    assert (changed.status_code, changed.json()["player"]) == (200, player)
    removed = api.call("DELETE", f"boards/cup/players/{quote(player, safe='')}")
    assert removed.json() == {"removed": True}


def test_scores_that_come_together_become_one_call(api, board, monkeypatch):
    flights = []
    submit_many = scores.asubmit_scores

    async def counted(*, board, rows, **options):
        flights.append(len(rows))
        return await submit_many(board=board, rows=rows, **options)

    monkeypatch.setattr("leaderboard.api.hot.scores.asubmit_scores", counted)
    calls = [
        ("POST", "boards/cup/scores", {"player": f"p{number}", "score": number})
        for number in range(40)
    ]
    # One of them is refused by the engine, and only that one.
    calls.append(("POST", "boards/cup/scores", {"player": "x" * 300, "score": 1}))
    answers = api.together(calls)
    assert [answer.status_code for answer in answers] == [200] * 40 + [422]
    assert answers[-1].json()["field"] == "player"
    assert sum(flights) == 40
    assert len(flights) < 10
    assert len({answer.json()["sequence"] for answer in answers[:-1]}) == 40
    assert board.engine().get_size() == 40


@pytest.mark.django_db(transaction=True)
def test_each_caller_of_a_flight_gets_its_own_refusal(api, board):
    board.highest_score = 100
    board.save()
    moderation.ban_player(player_id="eve", reason="Bot", actor=ACTOR, board=board)
    good, high, banned = api.together(
        [
            ("POST", "boards/cup/scores", {"player": "ada", "score": 99}),
            ("POST", "boards/cup/scores", {"player": "bob", "score": 101}),
            ("POST", "boards/cup/scores", {"player": "eve", "score": 50}),
        ]
    )
    assert good.status_code == 200
    assert (high.status_code, high.json()["code"]) == (422, "score_too_high")
    assert (banned.status_code, banned.json()["code"]) == (403, "player_banned")


def test_a_closed_board_says_so(api, board):
    seasons.close_season(board=board, actor=ACTOR)
    answer = score(api, "ada", 1)
    assert (answer.status_code, answer.json()["code"]) == (409, "season_closed")


# ---- many ----------------------------------------------------------------------------------------


def test_bulk_has_a_result_for_each_row(api, board):
    rows = [
        {"player": "ada", "score": 5},
        {"player": "bob"},
        {"player": "cy", "score": "7"},
        {"player": "", "score": 7},
        {"player": "dee", "score": 9, "extra": 1},
        {"player": "ada", "score": 6},
        7,
    ]
    answer = api.post("boards/cup/scores/bulk", rows)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["accepted"], body["refused"]) == (2, 5)
    assert [row.get("score") for row in body["results"]] == [5.0, None, None, None, None, 6.0, None]
    errors = [row["error"] for row in body["results"] if "error" in row]
    assert [(error["code"], error["field"]) for error in errors] == [
        ("missing_field", "1.score"),
        ("invalid_value", "2.score"),
        ("invalid_value", "3.player"),
        ("unknown_field", "4.extra"),
        ("invalid_value", "6"),
    ]
    assert board.engine().get_size() == 1


def test_bulk_takes_lines(api, board):
    lines = b'{"player":"ada","score":5}\n\n  {"player":"bob","score":6}\r\n{"player":"cy",\n'
    answer = api.call(
        "POST",
        "boards/cup/scores/bulk",
        body=lines,
        headers={"Content-Type": "application/x-ndjson"},
    )
    body = answer.json()
    assert (body["accepted"], body["refused"]) == (2, 1)
    assert body["results"][2]["error"]["code"] == "malformed_json"


def test_atomic_bulk_writes_all_or_nothing(api, board):
    rows = [{"player": "ada", "score": 5}, {"player": "bob", "score": "x"}]
    answer = api.post("boards/cup/scores/bulk?atomic=true", rows)
    assert (answer.status_code, answer.json()["code"]) == (422, "rows_refused")
    assert answer.json()["errors"][0]["field"] == "1.score"
    board.highest_score = 10
    board.save()
    rows[1]["score"] = 11
    answer = api.post("boards/cup/scores/bulk?atomic=true", rows)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "score_too_high")
    assert board.engine().get_size() == 0
    rows[1]["score"] = 9
    assert api.post("boards/cup/scores/bulk?atomic=true", rows).json()["accepted"] == 2


def test_ten_thousand_rows_are_the_most(api, board):
    rows = [{"player": f"p{number}", "score": number} for number in range(10_000)]
    answer = api.post("boards/cup/scores/bulk", rows)
    assert answer.json()["accepted"] == 10_000
    assert answer.headers["content-length"]
    answer = api.post("boards/cup/scores/bulk", [*rows, {"player": "one", "score": 1}] * 1)
    assert (answer.status_code, answer.json()["code"]) == (422, "too_many_rows")
    assert board.engine().get_size() == 10_000
    empty = api.post("boards/cup/scores/bulk", [])
    assert (empty.status_code, empty.json()["code"]) == (422, "no_rows")


# ---- idempotency ---------------------------------------------------------------------------------


def once(api, key, player, value, operator="sum"):
    body = {"player": player, "score": value, "operator": operator}
    return api.call("POST", "boards/cup/scores", json=body, headers={"Idempotency-Key": key})


def test_a_retry_gets_the_first_answer_and_counts_once(api, board):
    first = once(api, "one", "ada", 10)
    once(api, "two", "ada", 5)
    again = once(api, "one", "ada", 10)
    assert again.json() == first.json()
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert board.engine().get_user_entry("ada")["score"] == 15.0


@pytest.mark.parametrize("other", [("ada", 11), ("bob", 10)])
def test_the_same_key_with_another_body_is_refused(api, board, other):
    once(api, "one", "ada", 10)
    answer = once(api, "one", *other)
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")
    assert answer.json()["field"] == "Idempotency-Key"
    assert board.engine().get_size() == 1


def test_retries_that_come_together_count_once(api, board):
    body = {"player": "ada", "score": 10, "operator": "sum"}
    headers = {"Idempotency-Key": "same"}
    answers = api.together([("POST", "boards/cup/scores", body, None, headers)] * 20)
    assert {answer.json()["score"] for answer in answers} == {10.0}
    replayed = [answer for answer in answers if "idempotency-replayed" in answer.headers]
    assert len(replayed) == 19


def test_a_retried_bulk_counts_once(api, board):
    rows = [{"player": "ada", "score": 10, "operator": "sum"}] * 3
    headers = {"Idempotency-Key": "bulk"}
    first = api.call("POST", "boards/cup/scores/bulk", json=rows, headers=headers)
    again = api.call("POST", "boards/cup/scores/bulk", json=rows, headers=headers)
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert board.engine().get_user_entry("ada")["score"] == 30.0
    other = api.call("POST", "boards/cup/scores/bulk", json=rows[:2], headers=headers)
    assert other.status_code == 422


@pytest.mark.parametrize("key", ["", "with blank", "ä", "x" * 129])
def test_a_bad_idempotency_key_is_refused(api, board, key):
    answer = api.call(
        "POST",
        "boards/cup/scores",
        json={"player": "ada", "score": 1},
        headers={"Idempotency-Key": key.encode("latin-1")},
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_idempotency_key")
    assert board.engine().get_size() == 0


# ---- bad input -----------------------------------------------------------------------------------

BAD_BODIES = {
    b"": ("malformed_json", None),
    b"{": ("malformed_json", None),
    b'{"player":"ada","score":1': ("malformed_json", None),
    b'{"player":"ada","score":NaN}': ("malformed_json", None),
    b'{"player":"ada","score":Infinity}': ("malformed_json", None),
    b'{"player":"\xff","score":1}': ("malformed_json", None),
    b'{"player":"\\ud800","score":1}': ("malformed_json", None),
    b"[" * 50_000: ("invalid_value", None),
    b"null": ("invalid_value", None),
    b"[]": ("invalid_value", None),
    b'{"score":1}': ("missing_field", "player"),
    b'{"player":"ada"}': ("missing_field", "score"),
    b'{"player":"ada","score":1e400}': ("invalid_value", "score"),
    b'{"player":"ada","score":' + b"9" * 400 + b"}": ("invalid_value", "score"),
    b'{"player":"ada","score":"1"}': ("invalid_value", "score"),
    b'{"player":"ada","score":true}': ("invalid_value", "score"),
    b'{"player":"ada","score":null}': ("invalid_value", "score"),
    b'{"player":7,"score":1}': ("invalid_value", "player"),
    b'{"player":"","score":1}': ("invalid_value", "player"),
    b'{"player":"ada","score":1,"operator":"min"}': ("invalid_value", "operator"),
    b'{"player":"ada","score":1,"subscore":1}': ("no_subscore", "subscore"),
    b'{"player":"ada","score":1,"details":[]}': ("invalid_value", "details"),
    b'{"player":"ada","score":1,"details":{"a":{}}}': ("invalid_value", "details.a"),
    b'{"player":"ada","score":1,"points":2}': ("unknown_field", "points"),
    b'{"player":"ada","score":1,"score":2}': ("duplicate_field", "score"),
    b'{"player":"ada","score" :1,"sc\\u006fre":2}': ("duplicate_field", "score"),
    b'{"player":"ada","score":1,"details":{"a":"1","a":"2"}}': ("duplicate_field", "a"),
}


@pytest.mark.parametrize("body", BAD_BODIES, ids=lambda body: body[:50].decode("latin-1"))
def test_a_bad_body_is_refused_and_writes_nothing(api, board, body):
    answer = api.call("POST", "boards/cup/scores", body=body)
    code, field = BAD_BODIES[body]
    problem = answer.json()
    assert problem["code"] == code, problem
    assert answer.status_code == (400 if code == "malformed_json" else 422)
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["title"]
    assert problem["detail"].endswith(".")
    if field is not None:
        assert problem["field"].startswith(field.partition(".")[0])
    assert board.engine().get_size() == 0


def test_an_unknown_operator_is_told_which_there_are(api, board):
    body = {"player": "ada", "score": 1, "operator": "max"}
    detail = api.post("boards/cup/scores", body).json()["detail"]
    assert detail == "Invalid enum value 'max'; choose one of set, best, sum."


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize(
    "body",
    [body for body, (code, _) in BAD_BODIES.items() if code != "malformed_json" and body[0] == 123],
    ids=lambda body: body[:50].decode("latin-1"),
)
def test_a_bad_row_is_found_among_good_ones(api, board, body, lines):
    rows = [b'{"player":"bob","score":1}', body, b'{"player":"cy","score":2,"details":{"a":"b"}}']
    answer = api.call(
        "POST",
        "boards/cup/scores/bulk",
        body=b"\n".join(rows) if lines else b"[" + b", ".join(rows) + b"]",
        headers={"Content-Type": "application/x-ndjson" if lines else "application/json"},
    )
    found = answer.json()
    assert (found["accepted"], found["refused"]) == (2, 1), found
    assert found["results"][1]["error"]["code"] == BAD_BODIES[body][0]
    assert {one["user_id"] for one in board.engine().list_all()} == {"bob", "cy"}


def test_names_that_only_look_repeated_are_fine(api, board):
    body = b'{ "player" : "a\\":b", "score": 1, "details": {"note": "x\\":1", "\\":": "y"} }'
    assert api.call("POST", "boards/cup/scores", body=body).status_code == 200


def test_a_body_of_fifty_megabytes_is_refused(api, board):
    answer = api.call("POST", "boards/cup/scores/bulk", body=b"[" + b" " * 50_000_000)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_details_have_a_limit(api, board):
    many = {f"d{number}": "x" for number in range(33)}
    answer = score(api, "ada", 1, details=many)
    assert answer.status_code == 422
    assert answer.json()["field"] == "details"
    answer = score(api, "ada", 1, details={"bio": "x" * 5000})
    assert answer.status_code == 422
    assert json.loads(answer.text)["field"] == "details"
