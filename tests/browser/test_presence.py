"""Who is here, as the browsers tell it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sessions_app import keys, presence
from tests.browser.conftest import Person, Server
from tests.servers import wait_for


def seen(redis: Any, accounts: str) -> dict[bytes, float]:
    return dict(redis.zrange(accounts, 0, -1, withscores=True))


def newly_seen(redis: Any, accounts: str, before: dict[bytes, float]) -> list[bytes]:
    """Those who came since; people of other tests may still be there for a while."""
    now = seen(redis, accounts)
    return [viewer for viewer, at in now.items() if at > before.get(viewer, 0)]


def test_a_person_is_here_until_the_last_tab_is_left(
    person: Callable[..., Person], server: Server
) -> None:
    one = person("ada")
    accounts = keys.site_accounts()
    with server.redis.client() as redis:

        def seconds_left() -> float:
            return redis.zscore(accounts, viewer) + presence.HORIZON - redis.time()[0]

        before = seen(redis, accounts)
        first = one.open("/accounts/")
        wait_for(lambda: newly_seen(redis, accounts, before))
        (viewer,) = newly_seen(redis, accounts, before)
        wait_for(lambda: seconds_left() > 50)
        second = one.context.new_page()
        second.goto("/accounts/devices/")
        second.wait_for_load_state("networkidle")
        last = redis.zscore(accounts, viewer)

        first.goto("about:blank")
        # The other tab speaks up, a second later.
        wait_for(lambda: redis.zscore(accounts, viewer) > last, timeout=30)

        second.goto("about:blank")
        wait_for(lambda: 0 < seconds_left() <= presence.GRACE)


def test_watching_a_board_shows_at_once_on_its_page(
    person: Callable[..., Person], server: Server
) -> None:
    watcher = person("ada")
    with server.redis.client() as redis:
        accounts = keys.board_accounts("arena")
        before = seen(redis, accounts)
        watcher.open_live()
        wait_for(lambda: newly_seen(redis, accounts, before))
        (viewer,) = newly_seen(redis, accounts, before)
        watcher.open("about:blank")
        wait_for(
            lambda: (
                redis.zscore(accounts, viewer) + presence.HORIZON - redis.time()[0]
                <= presence.GRACE
            )
        )
