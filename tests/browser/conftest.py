"""A real server, a real Redis, a real Chromium.

One server for all of these tests; each finds the board as it was prepared, whatever the others did
before it. Every page that a test opens must leave the browser's console without an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leaderboard import RedisLeaderboard
from tests import optional
from tests.browser.prepare import PASSWORD
from tests.browser.server import Server

ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


def chromium() -> str:
    return str(optional.need_in_ci(optional.chromium, "chromium"))


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    chromium()
    server = Server(tmp_path_factory.mktemp("server"))
    try:
        server.prepare()
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="module")
def browser(server: Server) -> Iterator[Any]:
    # Per module: while it runs, this thread has an event loop, which others must not meet.
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield browser
        browser.close()


class Person:
    """Somebody at a browser: `open` a path, and everything that goes wrong is remembered."""

    def __init__(self, browser: Any, server: Server, **options: Any) -> None:
        self.server = server
        self.context = browser.new_context(**{"base_url": server.url} | options)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._heard)

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} at {message.location.get('url')}")

    def open(self, path: str) -> Any:
        self.page.goto(path)
        return self.page

    def sign_in(self, username: str) -> None:
        page = self.open("/accounts/login/")
        page.fill("[name=username]", username)
        page.fill("[name=password]", PASSWORD)
        page.click("main form .button")
        page.wait_for_url(f"{self.server.url}/")

    def open_live(self, path: str = "/boards/arena/") -> Any:
        page = self.open(path)
        page.wait_for_selector('[data-status="live"]')
        return page


@pytest.fixture
def _leaves_nothing_behind(server: Server) -> Iterator[None]:
    """After the test the server runs and its board is as before, by writes that it hears of: Redis
    put back behind its back would be older than what it remembers."""
    with contextlib.closing(server.redis.client()) as client:
        board = server.engine(client)
        before = _entries(board)
        yield
        if server.process is None:
            server.start()
        after = _entries(board)
        changed = [one for one in before | after if before.get(one) != after.get(one)]
        for user_id in changed:
            board.delete_user(user_id)
            if user_id in before:
                score, details = before[user_id]
                board.upsert_user(user_id, score, details)


def _entries(board: RedisLeaderboard) -> dict[str, tuple[float, dict[str, str]]]:
    return {one["user_id"]: (one["score"], one["metadata"]) for one in board.list_all()}


@pytest.fixture
def person(
    browser: Any, server: Server, _leaves_nothing_behind: None
) -> Iterator[Callable[..., Person]]:
    people: list[Person] = []

    def make(username: str | None = None, **options: Any) -> Person:
        one = Person(browser, server, **options)
        people.append(one)
        if username:
            one.sign_in(username)
        return one

    yield make
    for one in people:
        one.context.close()
    assert [error for one in people for error in one.errors] == []
