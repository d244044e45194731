"""`make screenshots`: pictures of every page, phone and wide, light and dark.

Runs a server of its own with the sample data, so that the pictures look like a real evening.
"""

from __future__ import annotations

import re
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


def take(page: Any, name: str, path: str) -> None:
    """What the first screen shows."""
    page.goto(path)
    if page.locator("[data-status]").count():
        page.wait_for_selector('[data-status="live"]')
    file = FOLDER / f"{name}.png"
    page.screenshot(path=file, animations="disabled")
    if file.stat().st_size > LARGEST:
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
            for size, (width, height) in SIZES.items():
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
