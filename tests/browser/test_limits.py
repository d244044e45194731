"""The page of a rate limit, as somebody in a hurry meets it."""

from typing import Any


def test_it_counts_down_and_says_when_the_way_is_free(person: Any) -> None:
    hasty = person()
    page = hasty.open("/accounts/login/")
    for _ in range(60):
        page.fill("[name=username]", "somebody-in-a-hurry")
        page.fill("[name=password]", "wrong")
        page.click("main form .button")
        page.wait_for_load_state()
        if page.locator("[data-retry-after]").count():
            break
    timer = page.locator("[data-retry-after]")
    seconds = int(timer.get_attribute("data-retry-after"))
    assert 1 <= seconds <= 60
    shown = timer.inner_text()
    assert shown.startswith(("0:", "1:"))
    page.wait_for_function(
        "before => document.querySelector('[data-retry-after]').textContent !== before", arg=shown
    )
    assert page.locator("[data-retry-link]").get_attribute("aria-disabled") == "true"
    # The browser reports every answer of 400 and more; this one was wanted.
    hasty.errors.clear()
