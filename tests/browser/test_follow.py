"""Pages that follow a board without showing the top of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import Person, Server

People = Callable[..., Person]


def test_the_list_of_boards_moves(person: People, server: Server) -> None:
    page = person().open("/")
    page.evaluate("window.same = true")
    page.wait_for_load_state("networkidle")
    server.engine().upsert_user("p20", 96000)
    page.wait_for_selector('.leaders li:first-child:has-text("96,000")')
    assert page.evaluate("window.same"), "without a reload"


def test_the_page_of_a_player_moves(person: People, server: Server) -> None:
    page = person().open("/boards/arena/players/p21/")
    page.evaluate("window.same = true")
    page.wait_for_load_state("networkidle")
    server.engine().upsert_user("p21", 97000)
    page.wait_for_selector('.facts dd:has-text("97,000")')
    assert page.evaluate("window.same"), "without a reload"


def test_the_plot_of_all_scores_follows(person: People, server: Server) -> None:
    page = person().open_live()
    server.engine().upsert_user("p22", 98000)
    page.wait_for_selector('#scores text:has-text("98,000")', state="attached", timeout=10_000)


def test_a_broken_picture_shows_the_initials(person: People, server: Server) -> None:
    one = person()
    page = one.open_live()
    server.engine().upsert_user("p23", 99000, {"avatar": "https://127.0.0.1:9/none.png"})
    row = '[data-rows] tr:first-child[data-id="p23"]'
    page.wait_for_selector(row)
    page.wait_for_selector(f"{row} img", state="detached")
    one.errors.clear()  # the browser reports the refused connection


PAGES = {
    "a later page": ("?page=2", "p5", "1,055"),
    "a team": ("?team=Owls", "p4", "95,000"),
    "a later page of a window": ("?window=day&page=2", "p5", "1,055"),
    "a window": ("?window=week", "p6", "95,500"),
    "a search": ("?q=p7", "p7", "95,600"),
    "a search by name": ("?q=lovelace", "p30", "95,700"),
    "a team in a window": ("?window=day&team=Foxes", "p9", "95,800"),
}


@pytest.mark.parametrize("view", PAGES)
def test_every_view_of_a_board_follows(person: People, server: Server, view: str) -> None:
    query, player, shown = PAGES[view]
    page = person().open_live(f"/boards/arena/{query}")
    page.evaluate("window.same = true")
    for extra in (0, 1):  # again after the section was replaced by the first
        number = float(shown.replace(",", "")) + extra
        server.engine().upsert_user(player, number)
        page.wait_for_selector(f'[data-rows] [data-id="{player}"] .score:text-is("{number:,.0f}")')
    assert page.evaluate("window.same"), "without a reload"


def test_a_search_that_finds_nobody_finds_who_comes(person: People, server: Server) -> None:
    page = person().open_live("/boards/arena/?q=newcomer")
    server.engine().upsert_user("newcomer", 5)
    page.wait_for_selector('[data-rows] [data-id="newcomer"]')


def test_what_somebody_types_survives_what_comes(person: People, server: Server) -> None:
    page = person().open_live("/boards/arena/?page=2")
    page.fill("#q", "half a na")
    server.engine().upsert_user("p5", 1051)
    page.wait_for_selector('[data-rows] [data-id="p5"] .score:text-is("1,051")')
    assert page.input_value("#q") == "half a na"
    assert page.evaluate("document.activeElement.id") == "q"


def test_a_column_without_a_country_is_not_shown(person: People, server: Server) -> None:
    page = person(viewport={"width": 1440, "height": 900}).open_live("/boards/arena/?q=p3")
    column = page.locator(".board thead .country")
    assert not column.is_visible(), "p3 has none"
    server.engine().upsert_user("p3", 1030, {"country": "FR"})
    page.wait_for_selector('[data-id="p3"] >> text=FR')
    assert column.is_visible()


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/boards/arena/?display=wall",
        "/boards/arena/?q=p23",
        "/boards/arena/players/p23/",
    ],
)
def test_a_broken_picture_shows_the_initials_everywhere(
    person: People, server: Server, path: str
) -> None:
    details = {"name": "Pic Ture", "avatar": "https://127.0.0.1:9/none.png"}
    server.engine().upsert_user("p23", 99000, details)
    one = person()
    page = one.open(path)
    page.wait_for_selector('main .avatar:text-is("PT"):not(:has(img))')
    assert page.locator(".avatar img").count() == 0
    # Again when the page follows the board.
    server.engine().upsert_user("p23", 99001)
    page.wait_for_selector("main >> text=99,001")
    page.wait_for_selector('main .avatar:text-is("PT"):not(:has(img))')
    one.errors.clear()  # the browser reports the refused connection
