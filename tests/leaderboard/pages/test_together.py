"""Several seasons or boards as one table."""

from __future__ import annotations

import pytest
from django.http import HttpResponse
from django.test import Client

from config.redis.connections import get_redis
from leaderboard.access.aliases import alias_of
from leaderboard.boards import together
from leaderboard.boards.moderation import hide_player
from leaderboard.closing.seasons import close_season
from leaderboard.models import Board
from tests.leaderboard.pages.conftest import ACTOR, make_board, make_player, score

PAGE = "/boards/cup/together/"


@pytest.fixture
def cup(db: None) -> Board:
    """Season 1: ada 5, bob 3. Season 2: ada 1, cy 4. Season 3, running: bob 9."""
    board = make_board(windows=[])
    for season in ({"ada": 5, "bob": 3}, {"ada": 1, "cy": 4}):
        for name, value in season.items():
            score(board, name, value, name=name.title())
        close_season(board=board, actor=ACTOR, open_next=True)
    score(board, "bob", 9, name="Bob")
    return board


def shown(answer: HttpResponse) -> list[tuple[int, str, str]]:
    assert answer.status_code == 200, answer
    rows = answer.context.get("rows") or []  # type: ignore[attr-defined]
    return [(row.rank, row.name, row.score_text) for row in rows]


def errors(answer: HttpResponse) -> str:
    assert shown(answer) == []
    return str(answer.context["form"].errors)  # type: ignore[attr-defined]


def test_all_seasons_together_by_default(client: Client, cup: Board) -> None:
    assert shown(client.get(PAGE)) == [(1, "Bob", "12"), (2, "Ada", "6"), (3, "Cy", "4")]


def test_past_seasons_only(client: Client, cup: Board) -> None:
    answer = client.get(PAGE, {"season": ["1", "2"]})
    assert shown(answer) == [(1, "Ada", "6"), (2, "Cy", "4"), (3, "Bob", "3")]
    again = client.get(PAGE, {"season": ["1", "2"]})
    assert shown(again) == shown(answer)


def test_the_best_of_several(client: Client, cup: Board) -> None:
    answer = client.get(PAGE, {"season": ["1", "2", "3"], "how": "best"})
    assert shown(answer) == [(1, "Bob", "9"), (2, "Ada", "5"), (3, "Cy", "4")]


def test_the_best_where_the_lowest_wins(client: Client, db: None) -> None:
    board = make_board("run", order="asc", score_format="duration")
    for value in (62, 60):
        score(board, "ada", value, name="Ada")
        score(board, "bob", value + 1 if value == 62 else 59, name="Bob")
        close_season(board=board, actor=ACTOR, open_next=True)
    assert shown(client.get("/boards/run/together/")) == [(1, "Bob", "0:59"), (2, "Ada", "1:00")]


def test_several_boards(client: Client, cup: Board) -> None:
    other = make_board("league")
    score(other, "cy", 7, name="Cy")
    score(other, "dee", 1, name="Dee")
    answer = client.get(PAGE, {"season": "3", "board": "league"})
    assert shown(answer) == [(1, "Bob", "9"), (2, "Cy", "7"), (3, "Dee", "1")]
    for row in answer.context["rows"]:
        assert client.get(row.url).status_code == 200, "each name leads to a page that there is"


def test_only_boards_that_one_may_see_and_compare(client: Client, cup: Board) -> None:
    make_board("secret", visibility="private")
    make_board("times", order="asc")
    make_board("kilos", unit="kg")
    for slug in ("secret", "times", "kilos", "nothing"):
        said = errors(client.get(PAGE, {"board": slug}))
        assert f"Select a valid choice. {slug} is not one of the available choices." in said
    text = client.get(PAGE).content.decode()
    assert not any(name in text for name in ("The Secret", "The Times", "The Kilos"))


def test_their_number_is_bounded(client: Client, cup: Board) -> None:
    for number in range(together.MOST_SOURCES):
        make_board(f"b{number}")
    boards = [f"b{number}" for number in range(together.MOST_SOURCES)]
    assert "Choose 1 to 12" in errors(client.get(PAGE, {"season": "1", "board": boards}))


def test_their_size_is_bounded(client: Client, cup: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "MOST_ENTRIES", 4)
    assert "choose fewer" in errors(client.get(PAGE))
    assert len(shown(client.get(PAGE, {"season": ["1", "2"]}))) == 3


@pytest.mark.parametrize("query", ["season=x", "season=99", "how=all", "board=%00"])
def test_nonsense_is_refused_in_words(client: Client, cup: Board, query: str) -> None:
    assert "Select a valid choice." in errors(client.get(f"{PAGE}?{query}"))


@pytest.mark.django_db(transaction=True)
def test_who_is_hidden_is_gone_at_once(client: Client, cup: Board) -> None:
    assert "Ada" in client.get(PAGE).content.decode()
    hide_player(player_id="ada", board=cup, reason="a test", actor=ACTOR)
    assert [name for _, name, _ in shown(client.get(PAGE))] == ["Bob", "Cy"]


@pytest.mark.django_db(transaction=True)
def test_who_is_hidden_here_does_not_come_back_from_another_board(
    client: Client, cup: Board
) -> None:
    other = make_board(slug="other", name="Other")
    score(other, "ada", 100, name="Ada")
    score(other, "zoe", 50, name="Zoe")
    chosen = {"season": "3", "board": "other", "how": "sum"}
    assert [name for _, name, _ in shown(client.get(PAGE, chosen))] == ["Ada", "Zoe", "Bob"]
    hide_player(player_id="ada", board=cup, reason="a test", actor=ACTOR)
    assert [name for _, name, _ in shown(client.get(PAGE, chosen))] == ["Zoe", "Bob"]


@pytest.mark.django_db(transaction=True)
def test_who_is_anonymous_is_not_named(client: Client, cup: Board) -> None:
    client.force_login(make_player("ada"))
    form = {"display_name": "Ada", "privacy": "anonymous"}
    client.post("/accounts/profile/", form)
    text = client.get(PAGE).content.decode()
    assert "You are at rank 2 with 6." in text
    other = Client().get(PAGE)
    assert shown(other)[1] == (2, "Anonymous", "6")
    assert "players/ada/" not in other.content.decode()
    assert alias_of(cup, "ada") not in other.content.decode()


def test_it_has_pages(client: Client, db: None) -> None:
    board = make_board()
    for number in range(51):
        score(board, f"p{number}", number)
    assert len(shown(client.get(PAGE))) == 50
    assert shown(client.get(PAGE, {"page": "2"})) == [(51, "p0", "0")]
    beyond = client.get(PAGE, {"page": "9", "how": "sum"})
    assert beyond["Location"] == f"{PAGE}?how=sum&page=2"


def test_an_empty_board_says_so(client: Client, board: Board) -> None:
    assert "No score yet" in client.get(PAGE).content.decode()


def test_nothing_stays_in_redis_for_good(client: Client, cup: Board) -> None:
    make_board("league")
    client.get(PAGE, {"season": ["1", "2", "3"], "board": "league"})
    made = [key for key in get_redis().scan_iter(f"{cup.key}*") if b":union:" in key]
    assert made
    assert all(0 < get_redis().ttl(key) <= together.SOURCE_KEPT for key in made)


def test_the_tab_leads_there(client: Client, cup: Board) -> None:
    assert f'href="{PAGE}"' in client.get("/boards/cup/seasons/").content.decode()
