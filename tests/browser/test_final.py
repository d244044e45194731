"""A contest ends while people watch it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.browser.conftest import Person, Server

People = Callable[..., Person]


def count_loads(page: Any) -> list[str]:
    loads: list[str] = []
    page.on("framenavigated", lambda frame: loads.append(frame.url))
    return loads


def test_open_pages_and_the_wall_show_the_final_table_and_say_that_it_is_over(
    person: People, server: Server
) -> None:
    paths = ["/boards/final/", "/boards/final/", "/boards/final/?display=wall"]
    pages = [person().open_live(path) for path in paths]
    loads = [count_loads(page) for page in pages]
    server.run("manage.py", "season", "close", "final")
    for page in pages:
        page.wait_for_selector('[data-status="over"]')
        page.wait_for_selector('[data-status="over"] >> text=The season is over')
    # Each loads itself once, within three seconds, to show what else has changed.
    for page, loaded in zip(pages, loads, strict=True):
        while not loaded:
            page.wait_for_event("framenavigated", timeout=10_000)
        page.wait_for_selector('#board[data-state="closed"]')
        page.wait_for_selector('[data-status="over"]')
        assert page.locator("[data-rows] tr").count() == 12
        assert page.locator('[data-rows] tr:first-child[data-id="p11"]').is_visible()
        assert not page.locator("[data-none]").is_visible()


def test_a_page_loads_itself_at_most_once_a_minute_whatever_the_stream_sends(
    person: People, server: Server
) -> None:
    one = person()
    season = (
        'event: season\ndata: {"at":"","season":1,"state":"open","size":"","order":[],"rows":{}}'
    )
    one.page.route(
        "**/live/boards/arena/**",
        lambda route: route.fulfill(
            content_type="text/event-stream", body=f"retry: 50\n\n{season}\n\n" * 20
        ),
    )
    page = one.page
    page.clock.install()
    page.goto("/boards/arena/")
    loads = count_loads(page)
    for _ in range(10):
        page.clock.run_for(5_000)
        page.wait_for_load_state()
    assert len(loads) == 1
    page.clock.run_for(65_000)
    page.wait_for_load_state()
    assert 1 <= len(loads) <= 2
