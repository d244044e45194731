"""A real server, a real Redis, a real Chromium.

One server for all of these tests; what they change on its board, they change on players of their
own. Every page that a test opens must leave the browser's console without an error.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leaderboard import RedisLeaderboard, keys
from tests.servers import RedisServer, free_port, wait_for

ROOT = Path(__file__).resolve().parent.parent.parent
PASSWORD = "correct horse battery staple"
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


def chromium() -> str:
    """The browser, or a skip in one line; with CI=true its absence is a failure."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found:
        return found
    if os.environ.get("CI") == "true":
        pytest.fail("No Chromium found; with CI=true the browser tests must run.")
    pytest.skip("No Chromium found: the browser tests are skipped.")


class Server:
    """The web process on its own Redis and SQLite; `stop` and `start` keep address and data."""

    def __init__(self, folder: Path) -> None:
        self.redis = RedisServer(appendonly="yes")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "web.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.browser.settings",
            "REDIS_URL": self.redis.url,
            "CACHE_URL": "",
            "DATABASE_URL": f"sqlite:///{folder}/db.sqlite3",
            "SECRET_KEY": "only-for-tests-" + "x" * 40,
            "DEBUG": "",
            "ROSTRUM_HOST": "127.0.0.1",
            "ROSTRUM_PORT": str(self.port),
            "ROSTRUM_PROCESSES": "1",
        }

    def prepare(self) -> None:
        self.redis.start()
        self.run("-m", "tests.browser.prepare")

    def run(self, *arguments: str) -> None:
        subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, env=self.environment, check=True, timeout=120
        )

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "config.web"],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
            )
        wait_for(self.answers, timeout=60)

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=2) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=20)
            self.process = None

    def engine(self, slug: str = "arena") -> RedisLeaderboard:
        """The board as a game server writes to it."""
        return RedisLeaderboard(
            self.redis.client(),
            keys.base(slug),
            None,
            season=1,
            ties="earliest",
            groups=("country",),
            windows=("day", "week"),
            events=True,
            notices=True,
        )


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    chromium()
    server = Server(tmp_path_factory.mktemp("server"))
    try:
        server.prepare()
        server.start()
        yield server
    finally:
        server.stop()
        server.redis.remove()


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
def person(browser: Any, server: Server) -> Iterator[Callable[..., Person]]:
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
