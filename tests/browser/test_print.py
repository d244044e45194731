"""A board on paper."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.browser.conftest import Person

People = Callable[..., Person]


def pages_of(pdf: bytes) -> int:
    """Chromium writes an object of this type for each page, outside the compressed parts."""
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize("username", [None, "ada"])
def test_fifty_rows_take_at_most_two_pages(
    person: People, paper: str, username: str | None
) -> None:
    page = person(username).open_live()
    assert page.locator("[data-rows] tr").count() == 50
    assert 1 <= pages_of(page.pdf(format=paper)) <= 2


def test_it_has_the_date_and_no_button(person: People) -> None:
    page = person("root", locale="en-GB").open_live()
    page.emulate_media(media="print")
    text = page.inner_text("main")
    year = page.evaluate("new Date().getFullYear()")
    assert re.search(rf"As of .*{year}", text)
    assert "Arena" in text
    assert "Season 1" in text
    shown = "button, .button, input, summary, .pagination, nav a:not([aria-current])"
    assert page.locator(shown).locator("visible=true").count() == 0
    for word in ("Refresh", "Live", "watching", "Sign out", "Console"):
        assert word not in text


def test_a_season_fits_too(person: People) -> None:
    page = person().open("/boards/past/seasons/1/")
    assert pages_of(page.pdf(format="A4")) == 1
