"""Who is here, as the browsers tell it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sessions_app import keys, presence
from tests.browser.conftest import Person, Server
from tests.browser.prepare import ADA
from tests.servers import wait_for

VIEWER = presence.account_viewer(ADA)


def last_seen(redis: Any, accounts: str) -> float:
    return redis.zscore(accounts, VIEWER) or 0.0


def check_left(redis: Any, accounts: str, leave: Callable[[], Any]) -> None:
    """Somebody who leaves their last tab counts as gone `GRACE` seconds later, not after the
    minute of somebody who was only not seen."""
    shift = presence.HORIZON - presence.GRACE
    before = redis.time()[0]
    assert last_seen(redis, accounts) > before - shift
    leave()
    wait_for(lambda: last_seen(redis, accounts) <= redis.time()[0] - shift)
    assert last_seen(redis, accounts) >= before - shift


def test_a_person_is_here_until_the_last_tab_is_left(
    person: Callable[..., Person], server: Server
) -> None:
    one = person("ada")
    accounts = keys.site_accounts()
    with server.redis.client() as redis:
        first, second = one.page, one.context.new_page()
        for tab, path in ((first, "/accounts/"), (second, "/accounts/devices/")):
            opened = redis.time()[0]
            with tab.expect_response(lambda answer: "/live/" in answer.url):
                tab.goto(path)
            wait_for(lambda opened=opened: last_seen(redis, accounts) >= opened)

        first.goto("about:blank")
        left = redis.time()[0]
        # The other tab is still seen, every `BEAT` seconds.
        wait_for(lambda: last_seen(redis, accounts) > left, timeout=60)

        check_left(redis, accounts, lambda: second.goto("about:blank"))


def test_watching_a_board_shows_at_once_on_its_page(
    person: Callable[..., Person], server: Server
) -> None:
    watcher = person("ada")
    with server.redis.client() as redis:
        accounts = keys.board_accounts("arena")
        opened = redis.time()[0]
        watcher.open_live()
        wait_for(lambda: last_seen(redis, accounts) >= opened)
        check_left(redis, accounts, lambda: watcher.open("about:blank"))
