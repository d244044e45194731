"""Boards as a process remembers them, those that are not there included."""

import pytest
from asgiref.sync import async_to_sync

from leaderboard.api.errors import ApiError
from leaderboard.api.hot import boards
from leaderboard.api.hot.boards import REMEMBER, BoardCache
from tests.leaderboard.api.support import connection_kept
from tests.leaderboard.support import open_board

pytestmark = pytest.mark.django_db


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cache(clock):
    return BoardCache(clock)


def look_up(cache, slug):
    """The board's slug as a request finds it, None when there is no board."""

    async def get():
        try:
            return (cache.fresh(slug) or await cache.get(slug)).slug
        except ApiError:
            return None

    with connection_kept():
        return async_to_sync(get)()


@pytest.mark.parametrize("slug", ["private", "no-such"])
def test_sql_is_asked_for_a_private_board_as_often_as_for_none(
    cache, clock, slug, django_assert_num_queries
):
    open_board("private", visibility="private")
    for _ in range(2):
        with django_assert_num_queries(1):
            look_up(cache, slug)
        with django_assert_num_queries(0):
            look_up(cache, slug)
        clock.now += REMEMBER


def test_a_new_board_is_found_when_the_miss_is_forgotten(cache, clock):
    assert look_up(cache, "cup") is None
    open_board()
    clock.now += REMEMBER
    assert look_up(cache, "cup") == "cup"


def test_a_board_that_is_deleted_is_a_miss(cache, clock):
    board = open_board()
    assert look_up(cache, "cup") == "cup"
    board.delete()
    clock.now += REMEMBER
    assert look_up(cache, "cup") is None


def test_made_up_names_take_no_more_room_than_is_given(cache, monkeypatch):
    monkeypatch.setattr(boards, "MOST_REMEMBERED", 3)
    open_board()
    look_up(cache, "cup")
    for number in range(5):
        look_up(cache, f"none-{number}")
    look_up(cache, "x" * 3000)
    assert list(cache._missing) == ["none-2", "none-3", "none-4"]
    assert cache.fresh("cup") is not None
