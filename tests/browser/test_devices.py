"""Two browsers of one person: each sees the other, and can sign it out."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import PASSWORD, Person

NEW_PASSWORD = "another horse, another battery"
_numbers = itertools.count(1)


@pytest.fixture
def newcomer(person: Callable[..., Person]) -> tuple[Person, str]:
    """Somebody who signed up just now, so that no other test's sessions are in the way."""
    one, name = person(), f"newcomer{next(_numbers)}"
    page = one.open("/accounts/signup/")
    page.fill("[name=username]", name)
    for field in ("password1", "password2"):
        page.fill(f"[name={field}]", PASSWORD)
    page.click("main form .button")
    page.wait_for_url(f"{one.server.url}/")
    return one, name


def is_signed_in(one: Person) -> bool:
    page = one.open("/accounts/devices/")
    return bool(page.url.partition("?")[0].endswith("/accounts/devices/"))


def test_one_browser_signs_out_the_other_and_its_stream(
    newcomer: tuple[Person, str], person: Callable[..., Person]
) -> None:
    laptop, name = newcomer
    phone = person(name, user_agent="Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Firefox/143.0")
    board = phone.open_live()
    # Remembered in the page: the stream may be back, as a stranger's, before we look.
    board.evaluate(
        """() => {
          window.lost = new Promise((resolve) => {
            new MutationObserver(() => {
              if (document.querySelector('[data-status]').dataset.status !== 'live') resolve(true);
            }).observe(document.body, {attributes: true, subtree: true});
          });
        }"""
    )

    page = laptop.open("/accounts/devices/")
    cards: Any = page.locator(".devices > li")
    assert cards.count() == 2
    assert "This device" in cards.nth(0).inner_text()
    assert "Firefox 143 on Linux" in cards.nth(1).inner_text()
    cards.nth(1).get_by_role("button").click()
    page.get_by_text("The device was signed out.").wait_for()
    assert cards.count() == 1

    assert board.evaluate(
        "Promise.race([window.lost, new Promise((resolve) => setTimeout(resolve, 2000, false))])"
    )
    assert not is_signed_in(phone)
    assert is_signed_in(laptop)


def test_a_new_password_signs_out_the_other_browser(
    newcomer: tuple[Person, str], person: Callable[..., Person]
) -> None:
    laptop, name = newcomer
    phone = person(name)
    page = laptop.open("/accounts/password/")
    page.fill("[name=old_password]", PASSWORD)
    for field in ("new_password1", "new_password2"):
        page.fill(f"[name={field}]", NEW_PASSWORD)
    page.click("main form .button")
    page.get_by_text("All other devices were signed out.").wait_for()
    assert is_signed_in(laptop)
    assert not is_signed_in(phone)


def test_signing_out_everywhere(
    newcomer: tuple[Person, str], person: Callable[..., Person]
) -> None:
    laptop, name = newcomer
    phone = person(name)
    page = laptop.open("/accounts/devices/")
    page.get_by_role("button", name="Sign out everywhere").click()
    page.get_by_text("You are signed out everywhere.").wait_for()
    assert not is_signed_in(laptop)
    assert not is_signed_in(phone)
