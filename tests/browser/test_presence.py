"""Who is here, as the browsers tell it."""

from __future__ import annotations

from collections.abc import Callable

from sessions_app import keys, presence
from tests.browser.conftest import Person, Server
from tests.servers import wait_for


def test_a_person_is_here_until_the_last_tab_is_left(
    person: Callable[..., Person], server: Server
) -> None:
    one = person("ada")
    accounts = keys.site_accounts()
    with server.redis.client() as redis:

        def seconds_left() -> float:
            return redis.zscore(accounts, viewer) + presence.HORIZON - redis.time()[0]

        first = one.open("/accounts/")
        wait_for(lambda: redis.zcard(accounts) >= 1)
        viewer = redis.zrange(accounts, -1, -1)[0]
        wait_for(lambda: seconds_left() > 50)
        second = one.context.new_page()
        second.goto("/accounts/devices/")
        second.wait_for_load_state("networkidle")
        before = redis.zscore(accounts, viewer)

        first.goto("about:blank")
        # The other tab speaks up, a second later.
        wait_for(lambda: redis.zscore(accounts, viewer) > before, timeout=30)

        second.goto("about:blank")
        wait_for(lambda: 0 < seconds_left() <= presence.GRACE)


def test_watching_a_board_shows_at_once_on_its_page(
    person: Callable[..., Person], server: Server
) -> None:
    watcher = person("ada")
    watcher.open_live()
    with server.redis.client() as redis:
        accounts = keys.board_accounts("arena")
        wait_for(lambda: redis.zcard(accounts) >= 1)
        viewer = redis.zrange(accounts, -1, -1)[0]
        watcher.open("about:blank")
        wait_for(
            lambda: (
                redis.zscore(accounts, viewer) + presence.HORIZON - redis.time()[0]
                <= presence.GRACE
            )
        )
