"""Every page: for everybody, on every screen, with and without script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser import tools
from tests.browser.conftest import Person, Server
from tests.browser.prepare import PASSWORD

People = Callable[..., Person]

PUBLIC = [
    "/",
    "/boards/arena/",
    "/boards/arena/?window=day&page=2",
    "/boards/arena/?q=nobody",
    "/boards/arena/?display=wall",
    "/boards/arena/players/p30/",
    "/boards/arena/console/",
    "/boards/past/",
    "/boards/past/players/p3/",
    "/boards/past/seasons/",
    "/boards/past/seasons/1/",
    "/boards/past/together/",
    "/accounts/login/",
    "/accounts/signup/",
    "/accounts/reset/",
]
OWN = [
    "/boards/arena/",
    "/boards/arena/submit/",
    "/boards/arena/nearby/",
    "/accounts/",
    "/accounts/profile/",
    "/accounts/password/",
    "/accounts/devices/",
    "/accounts/notices/",
]
STAFF = ["/ops/"]
PHONE = {"viewport": {"width": 390, "height": 844}}
WIDE = {"viewport": {"width": 1440, "height": 900}}


@pytest.fixture(scope="module")
def axe() -> str:
    return tools.node_module("axe-core/axe.min.js").read_text()


def problems(page: Any, axe: str) -> list[str]:
    """What axe finds: rule, and where."""
    # Axe looks at one thing after the other: a badge that turns live meanwhile has, to it, the ink
    # of before on the ground of after.
    settled = 'html:not(:has([data-status])), [data-status="live"], [data-status="over"]'
    page.wait_for_selector(settled, state="attached")
    # Through the debugging protocol, which the page's policy does not concern.
    page.evaluate(axe)
    found = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{page.url}: {one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("username", "paths"),
    [(None, PUBLIC), ("ada", OWN), ("root", STAFF)],
    ids=["public", "own", "staff"],
)
def test_axe_finds_nothing(
    person: People, axe: str, scheme: str, username: str | None, paths: list[str]
) -> None:
    one = person(username, color_scheme=scheme, reduced_motion="reduce", **WIDE)
    found = []
    for path in paths:
        found += problems(one.open(path), axe)
    assert found == []


@pytest.mark.parametrize("status", [403, 404])
def test_error_pages_are_accessible_too(person: People, axe: str, status: int) -> None:
    one = person()
    path = {403: "/boards/past/console/", 404: "/nothing/here/"}[status]
    page = one.open(path)
    assert str(status) in page.inner_text("main")
    assert problems(page, axe) == []
    one.errors.clear()  # the browser reports the status itself


def test_nothing_is_wider_than_a_phone(person: People) -> None:
    one = person("ada", **PHONE)
    too_wide = [
        path
        for path in [*PUBLIC, *OWN]
        if one.open(path).evaluate("document.documentElement.scrollWidth > innerWidth")
    ]
    assert too_wide == []


def test_a_phone_shows_the_first_rows_at_once(person: People) -> None:
    for username in (None, "ada"):
        page = person(username, **PHONE).open("/boards/arena/")
        third = page.locator("[data-rows] tr").nth(2).bounding_box()
        assert third["y"] + third["height"] < PHONE["viewport"]["height"]


def test_past_seasons_fit_a_phone(person: People) -> None:
    page = person(**PHONE).open("/boards/past/seasons/")
    box = "document.querySelector('.table-box')"
    assert page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth")
    assert page.locator("td[data-label]").count() == 5


@pytest.mark.parametrize("language", ["de", "es", "fr"])
def test_axe_finds_nothing_in_other_languages(person: People, axe: str, language: str) -> None:
    one = person(locale=language, reduced_motion="reduce", **WIDE)
    found = []
    for path in PUBLIC:
        page = one.open(path)
        assert page.locator("html").get_attribute("lang") == language
        found += problems(page, axe)
    assert found == []


def test_the_language_switch_reaches_the_stream(person: People, server: Server) -> None:
    page = person().open("/boards/arena/")
    page.click("footer >> text=Deutsch")
    page.wait_for_selector('html[lang="de"]')
    page.wait_for_selector('[data-status="live"]')
    server.engine().upsert_user("p47", 97000)
    page.wait_for_selector('[data-id="p47"] .score:text-is("97.000")')


def test_it_works_without_script(person: People) -> None:
    one = person(java_script_enabled=False)
    page = one.open("/boards/arena/")
    assert page.locator("[data-rows] tr").count() == 50
    page.click("text=Refresh")
    page.click(".pagination >> text=Next")
    assert page.locator("[data-rows] tr").first.locator(".rank").inner_text() == "51"
    page.fill("#q", "p7")
    page.click("main [role=search] button")
    assert page.locator("[data-rows] [data-id=p7]").count() == 1
    page.goto("/boards/arena/console/")
    page.fill("#console-top [name=count]", "2")
    page.click("#console-top button")
    assert page.locator("#console-top .leaders li").count() == 2
    page.click("footer >> text=Dark")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_it_follows_the_system_and_the_switch(person: People) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    page = person(color_scheme="dark").open("/")
    assert page.evaluate(ground) == "rgb(13, 17, 18)"
    page.click("footer >> text=Light")
    page.wait_for_selector('html[data-theme="light"]')
    assert page.evaluate(ground) == "rgb(243, 244, 239)"
    page.goto("/boards/arena/")
    assert page.evaluate(ground) == "rgb(243, 244, 239)"


def test_the_keyboard_reaches_everything(person: People) -> None:
    page = person().open_live()
    focused = "document.activeElement"
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.className") == "skip"
    page.keyboard.press("Enter")
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.add(page.evaluate(f"{focused}.textContent.trim() || {focused}.name"))
        outline = page.evaluate(f"getComputedStyle({focused}).outlineStyle")
        assert outline != "none", page.evaluate(f"{focused}.outerHTML")
    assert {"Console", "Today", "q", "rank", "Show"} <= seen
    page.focus("text=Today")
    page.keyboard.press("Enter")
    page.wait_for_url("**/boards/arena/?window=day")


def test_choosing_a_team_moves_nobody(person: People) -> None:
    page = person().open_live()
    page.fill("#team", "owls")
    page.click("main [role=search] button")
    page.wait_for_selector("text=Ranked among themselves.")
    rows = page.locator("[data-rows] tr")
    assert rows.first.locator(".rank").inner_text() == "1"
    assert rows.count() == 30
    assert page.locator("[data-move]:not(:empty)").count() == 0
    page.click("text=Show everyone")
    page.wait_for_selector("[data-rows] tr:nth-child(50)")
    assert page.locator("[data-move]:not(:empty)").count() == 0


def test_signing_in_leads_back_to_the_tab_that_was_open(person: People) -> None:
    one = person()
    page = one.open("/boards/arena/")
    page.click("text=Today")
    page.wait_for_url("**/boards/arena/?window=day")
    page.click("header >> text=Sign in")
    page.fill("[name=username]", "ada")
    page.fill("[name=password]", PASSWORD)
    page.click("main form .button")
    page.wait_for_url(f"{one.server.url}/boards/arena/?window=day")


def test_a_console_answers_in_place(person: People) -> None:
    page = person().open("/boards/arena/console/")
    page.evaluate("window.kept = true")

    def run(block: str, answer: str, **fields: str) -> None:
        for name, value in fields.items():
            page.fill(f"#console-{block} [name={name}]", value)
        page.click(f"#console-{block} .button")
        page.wait_for_selector(f"#console-{block} >> text={answer}")

    run("set", "is at rank", player_id="new", score="1", name="New One")
    run("add", "with 6", player_id="new", amount="5")
    run("top", "3 lines", count="3")
    run("around", "5 lines", rank="10", count="5")
    run("set", "begins with https://", player_id="new", score="1", avatar="javascript:1")
    run("limit", "1 player was trimmed", limit="60")
    assert "new" in page.inner_text("#console-limit")
    run("limit", "no size limit", limit="")
    assert page.evaluate("window.kept") is True


def test_times_are_the_readers_own(person: People) -> None:
    page = person(timezone_id="Asia/Tokyo", locale="en-US").open("/boards/past/players/p3/")
    title = page.evaluate("document.querySelector('time')?.title || 'none'")
    assert title == "none" or "Japan" in title or "GMT+9" in title


def test_a_picture_that_does_not_load_leaves_the_initials(person: People, server: Server) -> None:
    one = person()
    details = {"name": "Pic Ture", "avatar": "https://127.0.0.1:9/none.png"}
    server.engine().upsert_user("pictured", 99000, details)
    page = one.open("/boards/arena/")
    page.wait_for_selector('[data-id="pictured"] .avatar:not(:has(img))')
    assert page.inner_text('[data-id="pictured"] .avatar') == "PT"
    one.errors.clear()  # the browser reports the picture itself


def test_a_refused_location_is_said(person: People) -> None:
    page = person().open("/boards/arena/nearby/")
    page.click("[name=locate]")
    page.wait_for_selector("text=Your browser did not share your location.")


@pytest.mark.parametrize("language", ["en", "de", "es", "fr"])
def test_the_bar_of_a_phone_is_one_line(person: People, language: str) -> None:
    page = person(locale=language, **PHONE).open("/")
    assert page.locator(".band").bounding_box()["height"] < 70


def test_a_phone_leaves_room_for_names_and_the_way_back(person: People) -> None:
    one = person(**PHONE)
    page = one.open("/boards/arena/")
    assert page.locator("[data-rows] .player").first.bounding_box()["width"] > 150
    for path in ("/boards/past/seasons/", "/boards/past/players/p3/", "/boards/arena/nearby/"):
        assert one.open(path).locator(".crumbs a").last.is_visible()


def test_markup_in_names_stays_text(person: People, server: Server) -> None:
    name = '<img src=x onerror="document.title=1">\u202eevil'
    page = person().open_live()
    server.engine().upsert_user("p46", 98000, {"name": name})
    page.wait_for_selector('[data-rows] tr:first-child[data-id="p46"]')
    assert "<img" in page.inner_text('[data-id="p46"]')
    assert page.locator('[data-id="p46"] img').count() == 0
