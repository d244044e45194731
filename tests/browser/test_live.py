"""Boards that move while you watch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leaderboard import keys
from leaderboard.notices import delivery
from tests.browser.conftest import Person, Server

People = Callable[..., Person]


def first_ids(page: Any, count: int = 3) -> list[str]:
    return page.evaluate(
        "count => [...document.querySelectorAll('[data-rows] [data-id]')]"
        ".slice(0, count).map((row) => row.dataset.id)",
        count,
    )


def wait_for_leader(page: Any, player_id: str) -> None:
    page.wait_for_selector(f'[data-rows] tr:first-child[data-id="{player_id}"]')


def test_a_score_in_one_browser_moves_the_row_in_the_other(person: People) -> None:
    watcher = person().open_live()
    console = person().open("/boards/arena/console/")
    assert first_ids(watcher, 1) == ["p59"]
    console.fill("#console-set [name=player_id]", "p40")
    console.fill("#console-set [name=score]", "90000")
    console.click("#console-set .button")
    wait_for_leader(watcher, "p40")
    leader = watcher.locator('[data-id="p40"]')
    assert leader.locator(".rank").inner_text() == "1"
    assert leader.locator(".score").inner_text() == "90,000"
    assert leader.locator(".move").inner_text() == "▲ 19"
    assert watcher.locator('[data-id="p59"] .rank').inner_text() == "2"
    ranks = watcher.locator("[data-rows] .rank").all_inner_texts()
    assert ranks == [str(number) for number in range(1, 51)]


def test_rows_glide_unless_the_reader_wants_calm(person: People, server: Server) -> None:
    moving, calm = person(), person(reduced_motion="reduce")
    animated = "() => document.getAnimations().filter((one) => !one.animationName).length"
    pages = [moving.open_live(), calm.open_live()]
    pages[0].evaluate(
        "() => { window.seen = 0; const animate = Element.prototype.animate;"
        "Element.prototype.animate = function (...all) { window.seen++;"
        "return animate.apply(this, all); }; }"
    )
    server.engine().upsert_user("p41", 91000)
    for page in pages:
        wait_for_leader(page, "p41")
    assert pages[0].evaluate("window.seen") > 1
    assert pages[1].evaluate(animated) == 0


def test_it_says_that_the_connection_is_lost_and_heals(person: People, server: Server) -> None:
    one = person()
    page = one.open_live()
    server.stop()
    page.wait_for_selector('[data-status="lost"]')
    server.engine().upsert_user("p42", 92000)  # nobody tells this page
    server.start()
    page.wait_for_selector('[data-status="live"]', timeout=60_000)
    wait_for_leader(page, "p42")
    server.engine().upsert_user("p43", 93000)
    wait_for_leader(page, "p43")
    one.errors.clear()  # the browser reports the refused connections


def test_it_counts_who_watches(person: People) -> None:
    first = person().open("/boards/past/")
    second = person("ada")  # strangers at one address count as one
    second.open("/boards/past/")
    first.wait_for_selector('[data-watching]:text-is("2")')
    second.context.close()
    first.wait_for_selector('[data-watching]:text-is("1")')


def test_my_own_place_follows(person: People, server: Server) -> None:
    page = person("ada").open_live()
    server.engine().upsert_user("p30", 500)
    page.wait_for_selector("#me >> text=of 60")
    server.engine().upsert_user("p30", 94000)
    page.wait_for_selector('#me strong:text-is("1")')
    page.wait_for_selector('[data-rows] tr:first-child[data-id="p30"].mine')


def test_a_later_page_and_a_search_are_asked_for_again(person: People, server: Server) -> None:
    page = person().open_live("/boards/arena/?q=p44")
    server.engine().upsert_user("p44", 777)
    page.wait_for_selector('[data-id="p44"] .score:text-is("777")')


def test_tabs_pages_and_back_keep_their_address(person: People, server: Server) -> None:
    page = person().open_live()
    page.evaluate("window.kept = true")
    page.click("text=Today")
    page.wait_for_url("**/boards/arena/?window=day")
    page.wait_for_selector('.tabs [aria-current]:text-is("Today")')
    page.click(".pagination >> text=2")
    page.wait_for_url("**/boards/arena/?window=day&page=2")
    page.wait_for_selector('[data-rank="51"]')
    assert page.evaluate("window.kept") is True  # nothing was loaded anew
    page.go_back()
    page.wait_for_selector('[data-rank="1"]')
    server.engine().upsert_user("p45", 95000)
    wait_for_leader(page, "p45")


@pytest.mark.parametrize("path", ["/", "/accounts/devices/"])
def test_a_notice_shows_on_any_open_page(person: People, server: Server, path: str) -> None:
    page = person("ada").open(path)
    with server.redis.client() as redis:
        bell = page.locator("[data-notices]")
        before = int(bell.text_content() or 0)
        page.evaluate("window.same = true")
        player = delivery._digest("p30")
        told = [keys.notices(player), keys.notice_sent(player, "x")]
        text = '{"kind":"overtaken","board":"arena","name":"Arena","by":"Bob","rank":2}'
        delivery._add(redis, told, [0, 60, 200, text, "p30", keys.notices_live()])
    page.wait_for_function(
        "count => document.querySelector('[data-notices]').textContent === String(count)",
        arg=before + 1,
        timeout=5000,
    )
    assert page.evaluate("window.same"), "without a reload"
