"""What the API says of players who do not want to be named."""

import pytest

from config.redis.connections import close_async_redis
from leaderboard.access import aliases
from leaderboard.boards import marks, moderation, profiles
from leaderboard.closing import seasons
from leaderboard.live.boards import HtmlSource, JsonSource
from leaderboard.log import rebuild
from leaderboard.models import ApiKey, Player
from tests.leaderboard.support import ACTOR, forget_seasons, open_board, submit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _new_process():
    forget_seasons()
    marks._seen.clear()


@pytest.fixture
def ada():
    return Player.objects.create(pk="ada", display_name="Ada")


@pytest.mark.parametrize("address", ["seasons", "seasons/1/standings"])
def test_a_validator_of_a_past_season_ends_with_a_name_in_it(client, ada, address):
    board = open_board()
    submit(board, "ada", 5, details={"name": "Ada"})
    seasons.close_season(board=board, actor=ACTOR)
    url = f"/api/v1/boards/{board.slug}/{address}"
    tag = client.get(url)["ETag"]
    assert client.get(url, headers={"If-None-Match": tag}).status_code == 304
    profiles.update_profile(player=ada, privacy="anonymous")
    again = client.get(url, headers={"If-None-Match": tag})
    assert again.status_code == 200
    assert "Ada" not in again.content.decode()


@pytest.fixture
def board(ada):
    board = open_board(windows=["day"], groups=["team"])
    submit(board, "ada", 30, details={"name": "Ada", "team": "Engine", "mail": "ada@example.org"})
    submit(board, "bob", 20, details={"name": "Bob"})
    profiles.update_profile(player=ada, privacy="anonymous")
    return board


def alias(board):
    return aliases.alias_of(board, "ada")


READS = [
    "entries",
    "entries?window=day",
    "entries/around/bob",
    "entries/around-rank/1",
    "entries/range?low=0",
    "players/bob",
]


@pytest.mark.parametrize("address", READS)
def test_without_a_key_anonymous_players_have_an_alias(client, board, address):
    text = client.get(f"/api/v1/boards/cup/{address}").content.decode()
    assert alias(board) in text
    assert '"Anonymous"' in text
    for secret in ('"ada"', "Engine", "ada@example.org", "~alias"):
        assert secret not in text


@pytest.mark.parametrize("address", [*READS, "players/ada", "entries/around/ada"])
def test_a_key_of_the_board_reads_the_id_and_no_name(client, board, address):
    _, token = ApiKey.make("game", ["read"], boards=[board])
    asking = {"Authorization": f"Bearer {token}"}
    client.get(f"/api/v1/boards/cup/{address}")  # what is kept for others is not given to keys
    text = client.get(f"/api/v1/boards/cup/{address}", headers=asking).content.decode()
    assert '"ada"' in text
    for secret in (alias(board), '"Ada"', "Engine", "ada@example.org", "~alias"):
        assert secret not in text


def test_aliases_differ_from_board_to_board(board):
    assert aliases.alias_of(open_board("other"), "ada") != alias(board)


@pytest.mark.parametrize("address", ["players/{}", "players/{}/history", "entries/around/{}"])
def test_only_the_alias_leads_to_an_anonymous_player(client, board, address):
    rebuild.drain(board, 5)
    assert client.get("/api/v1/boards/cup/" + address.format("ada")).status_code == 404
    answer = client.get("/api/v1/boards/cup/" + address.format(alias(board)))
    assert answer.status_code == 200
    assert '"ada"' not in answer.content.decode()
    profiles.update_profile(player=Player.objects.get(pk="ada"), privacy="shown")
    assert client.get("/api/v1/boards/cup/" + address.format(alias(board))).status_code == 404


def test_among_given_players_an_id_does_not_lead_to_the_alias(client, board):
    names = ["ada", "bob", alias(board)]
    answer = client.post(
        "/api/v1/boards/cup/entries/among", {"players": names}, content_type="application/json"
    ).json()
    assert [one["player"] for one in answer["entries"]] == [alias(board), "bob"]
    assert answer["missing"] == ["ada"]
    only = client.post(
        "/api/v1/boards/cup/entries/among", {"players": ["ada"]}, content_type="application/json"
    ).json()
    assert (only["entries"], only["missing"]) == ([], ["ada"])


async def test_live_streams_show_the_alias(board):
    everybody = JsonSource(board, "", ())
    assert set((await everybody.read()).rows) == {alias(board), "bob"}
    assert set((await JsonSource(board, "", ("ada",)).read()).rows) == set()
    assert set((await JsonSource(board, "", (alias(board),)).read()).rows) == {alias(board)}
    for_key = JsonSource(board, "day", ("ada",), with_ids=True)
    (row,) = (await for_key.read()).rows.values()
    assert dict(row.content[1]) == {"name": "Anonymous"}
    page = HtmlSource(board, "day", "en")
    picture = await page.read()
    assert set(picture.rows) == {alias(board), "bob"}
    assert b"ada" not in page.encode(None, picture)
    await close_async_redis()


def test_the_archive_keeps_no_name_of_an_anonymous_player(client, board):
    seasons.close_season(board=board, actor=ACTOR)
    text = client.get("/api/v1/boards/cup/seasons/1/standings").content.decode()
    assert "ada" not in text
    assert "~alias" not in text


@pytest.fixture(params=["hide", "ban", "opt out", "remove"])
def gone(request, board):
    """Bob is not to be seen any more, for one reason or another."""
    rebuild.drain(board, 5)
    Player.objects.get_or_create(pk="bob")
    common = {"board": board, "player_id": "bob", "reason": "x", "actor": ACTOR}
    match request.param:
        case "hide":
            moderation.hide_player(**common)
        case "ban":
            moderation.ban_player(**common)
        case "opt out":
            profiles.update_profile(player=Player.objects.get(pk="bob"), privacy="opted_out")
        case "remove":
            moderation.remove_player(**common)
            rebuild.drain(board, 5)
    return request.param


@pytest.mark.parametrize(
    "address", ["/api/v1/boards/cup/players/bob/history", "/boards/cup/players/bob/"]
)
def test_who_is_not_shown_has_no_history(client, gone, address):
    assert client.get(address).status_code == 404


def test_scores_from_before_a_removal_are_not_plotted_again(client, board):
    moderation.remove_player(board=board, player_id="bob", reason="x", actor=ACTOR)
    submit(board, "bob", 3)
    rebuild.drain(board, 5)
    events = client.get("/api/v1/boards/cup/players/bob/history").json()["events"]
    assert [event["score"] for event in events] == [3]


@pytest.mark.parametrize("where", ["here", "everywhere"])
def test_archives_keep_the_place_of_a_banned_player_without_the_name(client, board, where):
    seasons.close_season(board=board, actor=ACTOR)
    url = "/api/v1/boards/cup/seasons/1/standings"
    assert "Bob" in client.get(url).content.decode()
    here = board if where == "here" else None
    moderation.ban_player(board=here, player_id="bob", reason="x", actor=ACTOR)
    entry = client.get(url).json()["entries"][1]
    assert (entry["rank"], entry["score"], entry["player"]) == (2, 20, "")
    for page in ("", "?q=Bob", "?format=csv"):
        answer = client.get(f"/boards/cup/seasons/1/{page}")
        text = b"".join(answer) if answer.streaming else answer.content
        assert b">Bob<" not in text
        assert b"bob," not in text
    moderation.unhide_player(board=here, player_id="bob", reason="x", actor=ACTOR)
    assert "Bob" in client.get(url).content.decode()


def test_an_alias_leads_to_scores_of_the_running_season_only(client, board):
    seasons.close_season(board=board, actor=ACTOR, open_next=True)
    submit(board, "ada", 7)
    submit(board, "bob", 6)
    rebuild.drain(board, 5)
    _, token = ApiKey.make("game", ["read"], boards=[board])

    def scores(player, query="", **headers):
        forget_seasons()  # as a process that has not seen the new season yet
        url = f"/api/v1/boards/cup/players/{player}/history{query}"
        return [one["score"] for one in client.get(url, headers=headers).json()["events"]]

    assert scores(alias(board)) == [7]
    assert scores(alias(board), "?season=2") == [7]
    assert scores(alias(board), "?season=1") == []
    assert scores("bob") == [20, 6]
    assert scores("ada", Authorization=f"Bearer {token}") == [30, 7]
