"""What a hidden or banned player reads about themselves, and how people are called by name."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from leaderboard.admin.standings import moderate_url
from leaderboard.boards.moderation import ban_player, hide_player
from leaderboard.closing.seasons import close_season
from leaderboard.models import Board, Player
from tests.leaderboard.pages.conftest import ACTOR, make_board, make_player, score

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/boards/cup/"
SUBMIT = "/boards/cup/submit/"
OWN_PAGE = "/boards/cup/players/account-7/"
TRUTHS = {
    "hidden": "You are hidden on this board.",
    "banned": "You are banned from this board.",
}


@pytest.fixture
def board() -> Board:
    return make_board(submitters="players")


@pytest.fixture
def ada(client: Client, board: Board) -> Client:
    client.force_login(make_player("ada", display_name="Ada"))
    Player.objects.update(id="account-7")
    score(board, "account-7", 5, name="Ada")
    return client


def restrict(board: Board | None, kind: str, **values: object) -> None:
    act = ban_player if kind == "banned" else hide_player
    act(player_id="account-7", board=board, reason="reported by Bob", actor=ACTOR, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", TRUTHS)
@pytest.mark.parametrize("everywhere", [True, False])
def test_the_board_says_it_and_offers_no_submission(
    ada: Client, board: Board, kind: str, everywhere: bool
) -> None:
    assert SUBMIT in ada.get(PAGE).content.decode()
    restrict(None if everywhere else board, kind)
    text = ada.get(PAGE).content.decode()
    assert TRUTHS[kind] in text
    assert "You have no score here yet." not in text
    assert SUBMIT not in text
    assert "reported by Bob" not in text


@pytest.mark.parametrize("kind", TRUTHS)
def test_the_board_says_it_between_two_seasons(ada: Client, board: Board, kind: str) -> None:
    close_season(board=board, actor=ACTOR)
    restrict(board, kind)
    assert TRUTHS[kind] in ada.get(PAGE).content.decode()


@pytest.mark.parametrize("kind", TRUTHS)
def test_the_own_page_says_it_and_others_see_none(ada: Client, board: Board, kind: str) -> None:
    restrict(board, kind)
    answer = ada.get(OWN_PAGE)
    assert answer.status_code == 200
    text = answer.content.decode()
    assert TRUTHS[kind] in text
    assert "<title>Ada · " in text
    assert Client().get(OWN_PAGE).status_code == 404


@pytest.mark.parametrize("kind", TRUTHS)
def test_the_form_is_not_shown_and_not_taken(ada: Client, board: Board, kind: str) -> None:
    restrict(board, kind)
    for answer in (ada.get(SUBMIT), ada.post(SUBMIT, {"score": "9"})):
        assert answer.status_code == 403
        assert TRUTHS[kind] in answer.content.decode()
        assert 'name="score"' not in answer.content.decode()
    assert board.engine().get_user_entry("account-7") is None


def test_it_says_until_when(ada: Client, board: Board) -> None:
    until = timezone.now() + timedelta(days=3)
    restrict(board, "banned", until=until)
    for path in (PAGE, OWN_PAGE, SUBMIT):
        assert f'datetime="{until.isoformat()[:16]}' in ada.get(path).content.decode()


def test_who_opted_out_reads_that_on_board_and_own_page(ada: Client, board: Board) -> None:
    form = {"display_name": "Ada", "privacy": "opted_out"}
    ada.post("/accounts/profile/", form)
    for path in (PAGE, OWN_PAGE):
        assert "You have opted out" in ada.get(path).content.decode()
    assert SUBMIT in ada.get(PAGE).content.decode(), "the score is kept for the way back"


def test_others_read_nothing_of_it(ada: Client, board: Board) -> None:
    restrict(board, "hidden")
    other = Client()
    other.force_login(make_player("bob"))
    text = other.get(PAGE).content.decode()
    assert "You have no score here yet." in text
    assert SUBMIT in text


class TestNames:
    def test_the_profile_says_the_name(self, ada: Client) -> None:
        text = ada.get("/accounts/profile/").content.decode()
        assert "You play as Ada." in text
        assert "account-7" not in text

    def test_an_emptied_name_becomes_that_of_the_account(self, ada: Client) -> None:
        ada.post("/accounts/profile/", {"display_name": "", "privacy": "shown"})
        assert Player.objects.get().display_name == "ada"

    def test_the_admin_says_the_name(self, ada: Client, board: Board) -> None:
        staff = Client()
        staff.force_login(get_user_model().objects.create_superuser("root"))
        page = moderate_url(board, "account-7")
        assert "<title>Ada · " in staff.get(page).content.decode()
        form = {"action": "hide", "reason": "a test"}
        text = staff.post(page, form, follow=True).content.decode()
        assert "Ada is hidden." in text
        assert ">Ada</a>" in text

    def test_the_console_says_the_name(self, client: Client) -> None:
        board = make_board("demo", submitters="demo")
        score(board, "account-8", 5, name="Grace")
        form = {"operation": "add", "player_id": "account-8", "amount": "5"}
        text = client.post("/boards/demo/console/", form).content.decode()
        assert "Grace is at rank 1 with 10." in text

    def test_the_console_names_nobody_who_does_not_want_it(self, ada: Client) -> None:
        make_board("demo", submitters="demo")
        ada.post("/accounts/profile/", {"display_name": "Ada", "privacy": "anonymous"})
        form = {"operation": "set", "player_id": "account-7", "score": "5"}
        text = Client().post("/boards/demo/console/", form).content.decode()
        assert "The score of account-7 was saved but is not ranked." in text
