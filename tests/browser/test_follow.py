"""Pages that follow a board without showing the top of it."""

from __future__ import annotations

from collections.abc import Callable

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
