"""Pages of entries and of past seasons: what follows, and what is beyond the end."""

import struct
from base64 import urlsafe_b64encode

import pytest

from leaderboard.access import aliases
from leaderboard.api import cursors
from leaderboard.boards import marks, profiles
from leaderboard.closing import seasons
from leaderboard.models import Player
from tests.leaderboard.support import ACTOR, open_board, submit

PLAYERS = [f"p{number:02}" for number in range(12)]
PAGES = ["entries", "entries/range?low=0&high=100", "groups/team/red/entries"]


@pytest.fixture
def board(db):
    """Two by two of the same score, p11 and p10 best."""
    board = open_board(groups=["team"], operator="set")
    for number, player in enumerate(PLAYERS):
        submit(board, player, 10 + number // 2, details={"team": "red"})
    return board


def with_cursor(path, limit, cursor):
    address = f"boards/cup/{path}{'&' if '?' in path else '?'}limit={limit}"
    return address + (f"&cursor={cursor}" if cursor else "")


def read_all(asking, path, limit, between=lambda: None):
    seen, cursor = [], None
    while True:
        answer = asking.get(with_cursor(path, limit, cursor))
        assert answer.status_code == 200, answer.text
        seen += [entry["player"] for entry in answer.json()["entries"]]
        cursor = answer.json()["next"]
        if cursor is None:
            return seen
        between()


@pytest.mark.parametrize("path", PAGES)
def test_who_did_not_move_is_neither_seen_twice_nor_missed(api, board, path):
    moves = iter([("p00", 99), ("p01", 98), ("p02", 97), ("p11", 1), ("p10", 2)])

    def between():
        move = next(moves, None)
        if move:
            submit(board, *move)

    seen = read_all(api, path, 3, between)
    still = PLAYERS[3:10]
    assert sorted(player for player in seen if player in still) == still


@pytest.mark.parametrize("path", PAGES)
def test_a_page_goes_on_behind_an_entry_that_is_gone(api, board, path):
    first = api.get(with_cursor(path, 3, None)).json()
    for entry in first["entries"]:
        api.call("DELETE", f"boards/cup/players/{entry['player']}")
    rest = read_all_from(api, path, first["next"])
    assert sorted([entry["player"] for entry in first["entries"]] + rest) == PLAYERS


def read_all_from(api, path, cursor):
    answer = api.get(with_cursor(path, 100, cursor)).json()
    assert answer["next"] is None
    return [entry["player"] for entry in answer["entries"]]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_beyond_the_end_is_empty(api, board, path):
    sign = "&" if "?" in path else "?"
    body = api.get(f"boards/cup/{path}{sign}offset=500").json()
    assert (body["entries"], body["next"], body["total"]) == ([], None, len(PLAYERS))


def test_a_page_of_a_past_season_beyond_the_end_is_empty(api, board):
    seasons.close_season(board=board, actor=ACTOR)
    address = "boards/cup/seasons/1/standings?limit=10"
    first, second, beyond = (api.get(f"{address}&page={page}").json() for page in (1, 2, 9))
    assert (len(first["entries"]), first["next"]) == (10, 2)
    assert (len(second["entries"]), second["next"]) == (2, None)
    assert (beyond["entries"], beyond["next"], beyond["page"], beyond["pages"]) == ([], None, 9, 2)


@pytest.mark.parametrize(
    "cursor",
    [
        "nonsense",
        "é",
        "x" * 500,
        urlsafe_b64encode(b"o20").decode(),
        urlsafe_b64encode(b"\x7f\xf8" + bytes(7)).decode(),  # not a number
        urlsafe_b64encode(bytes(8) + b"\x20ab").decode(),  # shorter than it says
        urlsafe_b64encode(bytes(9) + b"\xff").decode(),  # no text
        urlsafe_b64encode(struct.pack(">dB", 14, 0)).decode(),  # a place, without our signature
        urlsafe_b64encode(struct.pack(">dB", 14, 0) + bytes(12)).decode(),
    ],
)
def test_a_cursor_that_was_made_up_is_refused(api, board, cursor):
    for path in PAGES:
        answer = api.get(with_cursor(path, 3, cursor))
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_value")
        assert answer.json()["field"] == "cursor"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["entries", "entries/range?low=0", "groups/team/red/entries"])
def test_a_cursor_does_not_give_an_anonymous_player_away(stranger, path):
    marks._seen.clear()
    board = open_board(ties="member", groups=["team"])
    for player in ("eve", "secret-id", "zoe"):
        submit(board, player, 5, details={"team": "red"})
    eve = Player.objects.create(pk="secret-id")
    profiles.update_profile(player=eve, privacy="anonymous")
    if path.startswith("groups"):  # who is anonymous is in no team
        assert read_all(stranger, path, 1) == ["zoe", "eve"]
        return
    alias = aliases.alias_of(board, "secret-id")
    assert read_all(stranger, path, 1) == ["zoe", alias, "eve"]
    body = stranger.get(with_cursor(path, 2, None)).json()
    assert body["entries"][-1]["player"] == alias
    assert cursors.read(body["next"], board.slug).user_id == alias


@pytest.mark.parametrize("path", PAGES)
def test_only_the_cursor_that_a_page_of_this_board_gave_is_read(api, board, path):
    other = open_board("other", groups=["team"], operator="set")
    for player in PLAYERS:
        submit(other, player, 10, details={"team": "red"})
    ours = api.get(with_cursor(path, 3, None)).json()["next"]
    theirs = api.get(with_cursor(path, 3, None).replace("cup", "other")).json()["next"]
    changed = ("B" if ours[0] == "A" else "A") + ours[1:]
    assert api.get(with_cursor(path, 3, ours)).status_code == 200
    for cursor in (theirs, changed, ours[:-4]):
        answer = api.get(with_cursor(path, 3, cursor))
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_value")


def test_the_longest_id_fits_into_a_cursor(api):
    board = open_board(ties="member", subscore_order="desc")
    longest = "z" * 256
    for player in (longest, "a"):
        submit(board, player, 5, subscore=1)
    first = api.get(with_cursor("entries", 1, None)).json()
    assert first["entries"][0]["player"] == longest
    assert read_all_from(api, "entries", first["next"]) == ["a"]
