"""Players near a place: by choice, rounded, forgotten."""

import itertools
import math

import pytest

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.boards import moderation, nearby
from sessions_app import flags
from sessions_app.models import Flag
from tests.leaderboard.support import ACTOR, open_board, submit

BERLIN, POTSDAM, PARIS = (52.5171, 13.3889), (52.3989, 13.0657), (48.8566, 2.3522)


@pytest.fixture(autouse=True)
def _switched_on(db):
    Flag.objects.update_or_create(name="nearby", defaults={"state": Flag.State.ON})
    flags.forget()
    yield
    flags.forget()


@pytest.fixture
def placed(board):
    for player, score, place in (("ada", 1, BERLIN), ("bob", 3, POTSDAM), ("cy", 2, PARIS)):
        submit(board, player, score, details={"name": player.title()})
        nearby.share(board, player, *place)
    return board


def found(api, query):
    answer = api.get(f"boards/cup/nearby?{query}")
    assert answer.status_code == 200, answer.text
    return [entry["player"] for entry in answer.json()["entries"]]


def test_those_within_the_radius_nearest_or_best_first(api, placed):
    here = "lat=52.52&lon=13.40&radius=50"
    assert found(api, here) == ["ada", "bob"]
    assert found(api, f"{here}&by=rank") == ["bob", "ada"]
    assert found(api, f"{here}&limit=1") == ["ada"]
    assert found(api, "lat=52.52&lon=13.40&radius=1000&unit=mi") == ["ada", "bob", "cy"]
    entry = api.get(f"boards/cup/nearby?{here}").json()["entries"][1]
    assert entry | {"distance": 0} == {
        "rank": 1,
        "player": "bob",
        "score": 3.0,
        "details": {"name": "Bob"},
        "distance": 0,
    }
    assert 20 < entry["distance"] < 30


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"lat": 1, "lon"', 400, "malformed_json"),
        (b'{"lat": NaN, "lon": 1}', 400, "malformed_json"),
        (b'{"lat": 1e400, "lon": 1}', 422, "invalid_value"),
        (b'{"lat": 1, "lat": 2, "lon": 1}', 422, "duplicate_field"),
        (b'{"lat": 91, "lon": 1}', 422, "invalid_value"),
    ],
)
def test_what_is_wrong_with_a_body_is_told(api, placed, body, status, code):
    answer = api.call("PUT", "boards/cup/players/ada/location", body=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert "Cannot parse" not in answer.json()["detail"]


def test_a_place_is_rounded_and_can_be_taken_back(api, placed):
    body = {"lat": 48.123456, "lon": 11.987654}
    answer = api.call("PUT", "boards/cup/players/ada/location", json=body)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["lat"], answer.json()["lon"]) == (48.12, 11.98371)
    assert answer.json()["expires"]
    assert found(api, "lat=48.12&lon=11.98&radius=2") == ["ada"]
    assert api.call("DELETE", "boards/cup/players/ada/location").json() == {"removed": True}
    assert api.call("DELETE", "boards/cup/players/ada/location").json() == {"removed": False}
    assert found(api, "lat=48.12&lon=11.98&radius=2") == []


@pytest.mark.parametrize("latitude", [0.0, 52.5, -70.0, 84.9])
def test_places_are_a_kilometre_apart_on_every_latitude(board, latitude):
    degree = 111.32 * math.cos(math.radians(latitude))  # of longitude, in km
    walk = [
        nearby.share(board, "ada", latitude, 11 + metres / 1000 / degree)
        for metres in range(0, 20_000, 250)
    ]
    kept = sorted({place.lon for place in walk})
    gaps = [(east - west) * degree for west, east in itertools.pairwise(kept)]
    assert gaps
    assert all(1 < gap < 1.2 for gap in gaps)
    assert nearby.place_of(board, "ada") == (walk[-1].lat, walk[-1].lon)


def test_the_date_line_is_no_place_beyond_the_map(board):
    assert nearby.share(board, "ada", 80.0, 180.0).lon == 180.0
    assert nearby.share(board, "ada", 80.0, -180.0).lon == -180.0


@pytest.mark.django_db(transaction=True)
def test_hidden_players_and_strangers_to_the_board_are_not_shown(api, placed):
    nearby.share(placed, "nobody", *BERLIN)
    moderation.hide_player(player_id="ada", reason="x", actor=ACTOR, board=placed)
    assert found(api, "lat=52.52&lon=13.40&radius=50") == ["bob"]


@pytest.mark.parametrize("ranking", ["competition", "dense"])
@pytest.mark.parametrize("ties", ["earliest", "member"])
def test_ranks_follow_the_boards_rules(api, db, ranking, ties):
    board = open_board(ranking=ranking, ties=ties)
    for player, score in (("ada", 5), ("bob", 5), ("cy", 4)):
        submit(board, player, score)
        nearby.share(board, player, *BERLIN)
    ranks = {one.player_id: one.rank for one in nearby.find(board, *BERLIN, radius=5)}
    assert ranks == {"ada": 1, "bob": 1, "cy": 3 if ranking == "competition" else 2}


def test_old_places_are_neither_shown_nor_kept(api, placed):
    shared = keys.places_shared(placed.key)
    get_redis().zincrby(shared, -31 * 86400, "ada")
    assert found(api, "lat=52.52&lon=13.40&radius=50") == ["bob"]
    assert nearby.sweep(placed) == 1
    assert get_redis().zscore(keys.places(placed.key), "ada") is None
    get_redis().zincrby(shared, -31 * 86400, "bob")
    nearby.share(placed, "cy", *PARIS)
    assert get_redis().zcard(keys.places(placed.key)) == 1
    assert 0 < get_redis().ttl(shared) <= 30 * 86400
    assert 0 < get_redis().ttl(keys.places(placed.key)) <= 30 * 86400


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"lat": 91, "lon": 0}, "lat"),
        ({"lat": 0, "lon": 181}, "lon"),
        ({"lat": "north", "lon": 0}, "lat"),
        ({"lat": 0}, "lon"),
        ({"lat": 0, "lon": 0, "alt": 1}, "alt"),
    ],
)
def test_a_place_that_is_none_is_refused(api, board, body, field):
    answer = api.call("PUT", "boards/cup/players/ada/location", json=body)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert nearby.place_of(board, "ada") is None


@pytest.mark.parametrize(
    "query",
    ["lat=91&lon=0", "lat=0&lon=0&radius=0", "lat=0&lon=0&unit=miles", "lat=0", "lat=nan&lon=0"],
)
def test_a_bad_question_is_refused(api, board, query):
    assert api.get(f"boards/cup/nearby?{query}").status_code == 422


def test_it_is_behind_its_flag(api, placed):
    Flag.objects.update(state=Flag.State.OFF)
    flags.publish()
    flags.forget()
    answer = api.get("boards/cup/nearby?lat=0&lon=0")
    assert (answer.status_code, answer.json()["code"]) == (404, "nearby_is_off")
    body = {"lat": 0, "lon": 0}
    assert api.call("PUT", "boards/cup/players/ada/location", json=body).status_code == 404
    # Taking back what was shared works always.
    assert api.call("DELETE", "boards/cup/players/ada/location").json() == {"removed": True}
