"""`make screenshots`: pictures of every page, phone and wide, light and dark, and a moving board.

Runs its own server with the sample data, so that the pictures look like a real contest.
`make screenshots ARGS=film` makes only the film.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.browser.conftest import ARGUMENTS, chromium
from tests.browser.server import ROOT, Server

FOLDER = ROOT / "docs" / "screenshots"
SIZES = {"phone": (390, 844), "wide": (1440, 900)}
SCHEMES = ("light", "dark")
LARGEST = 150 * 1024
PAGES = {
    "home": "/",
    "board": "/boards/neon-drift/",
    "board-window": "/boards/crystal-caves/?window=week",
    "wall": "/boards/neon-drift/?display=wall",
    "player": "/boards/neon-drift/players/player-87/",
    "seasons": "/boards/neon-drift/seasons/",
    "season": "/boards/neon-drift/seasons/1/",
    "nearby": "/boards/neon-drift/nearby/",
    "console": "/boards/neon-drift/console/",
    "submit": "/boards/neon-drift/submit/",
    "profile": "/accounts/profile/",
    "devices": "/accounts/devices/",
    "notices": "/accounts/notices/",
    "operations": "/ops/",
    "not-found": "/nothing/here/",
}
# Not for everybody yet, but in the pictures.
SHOW_ALL = "from sessions_app.models import Flag; Flag.objects.update(state='on')"
SIGNED_OUT = {"login": "/accounts/login/", "signup": "/accounts/signup/"}

# The film: long enough to see several rows move, small enough for the top of the README.
FILM = FOLDER / "board-moving.webp"
FILM_PAGE = {"width": 1280, "height": 800}
FILM_SIZE = (800, 500)
FRAMES = 24
FRAME_MILLISECONDS = 300
SCORES_A_SECOND = "5"
LARGEST_FILM = 600 * 1024


def take(page: Any, name: str, path: str) -> None:
    """What the first screen shows."""
    page.goto(path)
    if page.locator("[data-status]").count():
        page.wait_for_selector('[data-status="live"]')
    file = FOLDER / f"{name}.png"
    page.screenshot(path=file, animations="disabled")
    _report_size(file, LARGEST)


def take_film(browser: Any, server: Server) -> None:
    """A board while scores arrive, as an animated picture."""
    from PIL import Image

    page = browser.new_page(
        base_url=server.url, viewport=FILM_PAGE, color_scheme="light", locale="en-GB"
    )
    page.goto(PAGES["wall"])
    page.wait_for_selector('[data-status="live"]')
    command = ["manage.py", "simulate", "--board", "neon-drift", "--rate", SCORES_A_SECOND]
    players = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=server.environment)
    frames = []
    try:
        page.wait_for_selector("tbody .move-up", timeout=30_000)
        for _ in range(FRAMES):
            frame = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            frames.append(frame.resize(FILM_SIZE, Image.Resampling.LANCZOS))
            page.wait_for_timeout(FRAME_MILLISECONDS)
    finally:
        players.terminate()
        players.wait(timeout=20)
        page.close()
    frames[0].save(
        FILM,
        save_all=True,
        append_images=frames[1:],
        duration=FRAME_MILLISECONDS,
        loop=0,
        quality=60,
        method=6,
    )
    _report_size(FILM, LARGEST_FILM)


def _report_size(file: Path, largest: int) -> None:
    if file.stat().st_size > largest:
        print(f"{file.name} has {file.stat().st_size // 1024} KiB", file=sys.stderr)


def sign_in(page: Any, password: str) -> None:
    page.goto("/accounts/login/")
    page.fill("[name=username]", "admin")
    page.fill("[name=password]", password)
    page.click("main form .button")


def main() -> None:
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(Path(folder))
        try:
            server.start_redis()
            server.run("manage.py", "migrate", "--verbosity", "0")
            password = re.findall(r"password (\S+)", server.run("manage.py", "seed"))[-1]
            server.run("manage.py", "shell", "--verbosity", "0", "-c", SHOW_ALL)
            server.start()
            browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
            take_film(browser, server)
            sizes = {} if sys.argv[1:] == ["film"] else SIZES
            for size, (width, height) in sizes.items():
                for scheme in SCHEMES:
                    context = browser.new_context(
                        base_url=server.url,
                        viewport={"width": width, "height": height},
                        color_scheme=scheme,
                        reduced_motion="reduce",
                        locale="en-GB",
                        user_agent="Mozilla/5.0 (X11; Linux x86_64) Chrome/150 Safari/537.36",
                    )
                    page = context.new_page()
                    for name, path in SIGNED_OUT.items():
                        take(page, f"{name}-{size}-{scheme}", path)
                    sign_in(page, password)
                    for name, path in PAGES.items():
                        take(page, f"{name}-{size}-{scheme}", path)
                    context.close()
            browser.close()
        finally:
            server.remove()


if __name__ == "__main__":
    main()
