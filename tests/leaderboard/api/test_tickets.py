"""Streams of private boards, for browsers that cannot send a key."""

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from leaderboard.access import aliases
from leaderboard.api import callers, tickets
from leaderboard.api.hot import live
from leaderboard.boards import marks, profiles
from leaderboard.models import ApiKey, Player
from tests.leaderboard.api.streams import Stream, run
from tests.leaderboard.api.support import Api, make_key
from tests.leaderboard.support import open_board, submit


@pytest.fixture
def private(board):
    board.visibility = "private"
    board.save()
    return board


def test_a_browser_watches_a_private_board_with_a_ticket(private):
    answer = Api(make_key("read")).post("boards/cup/live/ticket")
    assert answer.status_code == 200
    assert answer.json()["expires_in"] == tickets.LIFETIME

    async def watch():
        path = f"/api/v1/boards/cup/live?ticket={answer.json()['ticket']}"
        async with Stream(path) as stream:
            return stream.start["status"], (await stream.event())[0]

    assert run(watch) == (200, "snapshot")


def test_a_stream_that_a_ticket_opened_ends_with_its_key(private, quick, monkeypatch):
    ticket = Api(make_key("read")).post("boards/cup/live/ticket").json()["ticket"]

    async def watch():
        async with Stream(f"/api/v1/boards/cup/live?ticket={ticket}") as stream:
            await stream.event()
            # Old tickets open nothing; what is open goes on.
            monkeypatch.setattr(tickets, "LIFETIME", -1)
            await sync_to_async(submit)(private, "bob", 9)
            await stream.event()
            await ApiKey.objects.aupdate(revoked_at=timezone.now())
            await stream.task

    run(watch)


@pytest.fixture
def quick(monkeypatch):
    """Keys are looked at again at once."""
    monkeypatch.setattr(live, "ASK_AGAIN", 0.01)
    monkeypatch.setattr(callers, "REMEMBER", 0.0)


@pytest.fixture
def hidden(board):
    """Ada of a public board is anonymous."""
    marks._seen.clear()
    submit(board, "ada", 5, details={"name": "Ada"})
    ada = Player.objects.create(pk="ada")
    profiles.update_profile(player=ada, privacy="anonymous")
    return aliases.alias_of(board, "ada")


@pytest.mark.django_db(transaction=True)
def test_a_stream_with_ids_ends_when_its_key_loses_the_board(board, hidden, quick):
    token = make_key("read", all_boards=False, boards=[board])
    key = ApiKey.objects.get()

    async def watch():
        async with Stream("/api/v1/boards/cup/live", token) as stream:
            first = await stream.event()
            await sync_to_async(key.boards.clear)()
            await stream.task
        async with Stream("/api/v1/boards/cup/live", token) as again:
            return first, await again.event()

    first, again = run(watch)
    assert [list(data["rows"]) for _, _, data in (first, again)] == [["ada"], [hidden]]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("players", ["", "&player=ada&player={}"])
def test_a_ticket_shows_a_browser_no_id_of_an_anonymous_player(board, hidden, quick, players):
    ticket = Api(make_key("read")).post("boards/cup/live/ticket").json()["ticket"]

    async def watch():
        path = f"/api/v1/boards/cup/live?ticket={ticket}{players.format(hidden)}"
        async with Stream(path) as stream:
            first = await stream.event()
            await sync_to_async(submit)(board, "ada", 9)
            return first, await stream.event()

    for _, _, data in run(watch):
        assert list(data["rows"]) == [hidden]


def test_a_ticket_opens_only_the_stream_of_its_board_and_not_for_long(private, monkeypatch):
    api = Api(make_key("read"))
    ticket = api.post("boards/cup/live/ticket").json()["ticket"]
    open_board("other", visibility="private")
    for path, code in [
        (f"boards/other/live?ticket={ticket}", "ticket_unknown"),
        (f"boards/cup/live?ticket={ticket}x", "ticket_unknown"),
        ("boards/cup/live?ticket=", "ticket_unknown"),
    ]:
        answer = Api().get(path)
        assert (answer.status_code, answer.json()["code"]) == (401, code)
    assert Api(ticket).get("boards/cup/entries").status_code == 401
    monkeypatch.setattr(tickets, "LIFETIME", -1)
    answer = Api().get(f"boards/cup/live?ticket={ticket}")
    assert (answer.status_code, answer.json()["code"]) == (401, "ticket_expired")


def test_only_a_key_that_reads_the_board_gets_a_ticket(private):
    other = open_board("other")
    assert Api().post("boards/cup/live/ticket").status_code == 404
    assert Api().post("boards/other/live/ticket").json()["code"] == "key_required"
    assert Api(make_key("submit")).post("boards/cup/live/ticket").status_code == 403
    assert (
        Api(make_key("read", all_boards=False, boards=[other]))
        .post("boards/cup/live/ticket")
        .status_code
        == 404
    )
