"""What has lately happened on a board: found by the worker, named when it is read."""

import pytest
from django.contrib.auth.models import Permission, User

from leaderboard import keys
from leaderboard.boards.changing import delete_board
from leaderboard.boards.moderation import ban_player, hide_player
from leaderboard.boards.profiles import delete_player, update_profile
from leaderboard.boards.scores import submit_scores
from leaderboard.closing.seasons import close_season
from leaderboard.engine import Submission
from leaderboard.log.consumer import Consumer
from leaderboard.models import Player
from leaderboard.notices import activity
from tests.leaderboard.support import ACTOR, open_board, submit

pytestmark = pytest.mark.django_db


def store(board):
    reader = Consumer()
    reader.join(board)
    reader.run_once()


def texts(board, count=50):
    """The newest first."""
    return [happening.text for happening in activity.latest(board, count)]


@pytest.fixture
def cup():
    board = open_board()
    submit(board, "ada", 5, details={"name": "Ada"})
    submit(board, "bob", 3, details={"name": "Bob"})
    submit(board, "bob", 9)
    store(board)
    return board


def staff(client, *permissions):
    user = User.objects.create_user("root", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client.force_login(user)
    return client


def test_who_joins_and_who_takes_the_lead(cup):
    expected = ["Bob took the lead.", "Bob joined.", "Ada took the lead.", "Ada joined."]
    assert texts(cup) == expected
    submit(cup, "bob", 10)
    submit(cup, "ada", 6)
    store(cup)
    assert texts(cup) == expected


def test_an_event_that_comes_again_is_shown_once(cup, redis_client):
    before = redis_client.lrange(keys.feed(cup.key), 0, -1)
    redis_client.xgroup_setid(keys.events(cup.key), "store", "0")
    store(cup)
    assert redis_client.lrange(keys.feed(cup.key), 0, -1) == before


def test_the_feed_is_short_and_does_not_stay_for_ever(cup, redis_client):
    rows = [Submission(f"p{number}", 1) for number in range(200)]
    submit_scores(board=cup, rows=rows)
    store(cup)
    assert redis_client.llen(keys.feed(cup.key)) == activity.MOST_KEPT
    assert texts(cup)[0] == "p199 joined."
    assert 0 < redis_client.ttl(keys.feed(cup.key)) <= activity.KEPT


def test_names_are_those_of_now(cup, django_capture_on_commit_callbacks):
    bob = Player.objects.get(pk="bob")
    with django_capture_on_commit_callbacks(execute=True):
        update_profile(player=bob, display_name="Robert")
    assert texts(cup)[0] == "Robert took the lead."
    with django_capture_on_commit_callbacks(execute=True):
        update_profile(player=bob, privacy="anonymous")
    happening = activity.latest(cup, 1)[0]
    assert (happening.text, happening.url) == ("Anonymous took the lead.", "")
    with django_capture_on_commit_callbacks(execute=True):
        update_profile(player=bob, privacy="opted_out")
    assert texts(cup) == ["Ada took the lead.", "Ada joined."]


def test_a_name_is_right_after_the_season_too(cup):
    close_season(board=cup, actor=ACTOR)
    assert "Bob took the lead." in texts(cup)


@pytest.mark.parametrize("restrict", [hide_player, ban_player])
def test_hidden_and_banned_players_are_left_out(cup, restrict):
    restrict(player_id="bob", reason="cheating", actor=ACTOR, board=cup)
    assert texts(cup) == ["Ada took the lead.", "Ada joined."]


def test_nothing_is_kept_of_a_deleted_player(cup, redis_client, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        delete_player(player=Player.objects.get(pk="bob"), actor=ACTOR)
    assert b"bob" not in b"".join(redis_client.lrange(keys.feed(cup.key), 0, -1))
    assert texts(cup) == ["Ada took the lead.", "Ada joined."]


def test_the_end_of_a_season_is_in_the_feed_once(cup):
    season = close_season(board=cup, actor=ACTOR)
    activity.season_ended(season)
    newest = activity.latest(cup, 2)
    assert [one.kind for one in newest] == ["season", "leader"]
    assert newest[0].text == "Season 1 has ended."
    assert newest[0].url == "/boards/cup/seasons/1/"


def test_the_feed_goes_with_the_board(cup, redis_client, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        delete_board(board=cup, actor=ACTOR)
    assert not redis_client.exists(keys.feed("leaderboard:{cup}"))


def test_a_board_page_loads_its_feed(cup, client):
    page = client.get("/boards/cup/").text
    assert 'hx-get="/boards/cup/activity/" hx-trigger="load, scores:changed' in page
    part = client.get("/boards/cup/activity/").text
    assert "Bob took the lead." in part
    assert 'href="/boards/cup/players/bob/"' in part
    assert "load" not in part.split("hx-trigger")[1].split('"')[1]


def test_markup_in_a_name_stays_text(client):
    board = open_board()
    submit(board, "eve", 1, details={"name": "<b>Eve"})
    store(board)
    assert "<b>" not in client.get("/boards/cup/activity/").text


def test_a_private_board_shows_its_feed_to_members(client):
    board = open_board("secret", visibility="private")
    assert client.get("/boards/secret/activity/").status_code == 404
    member = User.objects.create_user("mia")
    board.members.add(member)
    client.force_login(member)
    assert client.get("/boards/secret/activity/").status_code == 200


def test_staff_see_all_boards_together(cup, client):
    other = open_board("secret", visibility="private", name="The Secret")
    submit(other, "cy", 1)
    store(other)
    staff(client, "view_board")
    page = client.get("/ops/").text
    assert 'data-live="/live/activity/"' in page
    assert 'hx-get="/ops/activity/"' in page
    part = client.get("/ops/activity/").text
    assert part.index("The Secret") < part.index("cy joined") < part.index("Bob took the lead")


def test_staff_who_may_not_view_boards_see_none_of_it(cup, client):
    staff(client, "view_player")
    assert "/ops/activity/" not in client.get("/ops/").text
    assert client.get("/ops/activity/").status_code == 403
