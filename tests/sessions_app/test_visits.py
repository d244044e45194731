"""Who came by."""

import threading
from datetime import date, timedelta

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpResponse
from django.utils import timezone

from config.redis.connections import OUTAGE_ERRORS
from sessions_app import keys, visits
from sessions_app.visitors import COOKIE, looks_like_bot, set_cookie, visitor_id

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"


@pytest.fixture
def visit(rf):
    def visit(visitor="", user=None, board=None, agent=FIREFOX):
        request = rf.get("/", headers={"user-agent": agent})
        if visitor:
            request.COOKIES[COOKIE] = visitor.ljust(22, "x")
        request.user = user or AnonymousUser()
        visits.record(request, board)
        return request

    return visit


def test_each_visitor_counts_once_a_day_on_the_site_and_on_a_board(visit):
    for visitor in ("ann", "bob", "ann"):
        visit(visitor, board="chess")
    visit("cid")
    visits.flush()
    assert visits.unique().count == 3
    assert visits.unique("chess").count == 2


def test_nothing_is_sent_until_it_is_flushed(visit, redis_client):
    visit("ann")
    assert redis_client.dbsize() == 0
    visits.flush()
    assert redis_client.dbsize() == 1


def test_a_week_is_merged_not_added(redis_client):
    today = timezone.localdate()
    for back in range(7):
        day = (today - timedelta(days=back)).isoformat()
        redis_client.pfadd(keys.site_visitors(day), "regular", f"guest{back}")
    assert visits.unique(days=7).count == 8
    assert visits.unique(days=7, last=today - timedelta(days=5)).count == 3
    assert list(visits.unique_by_day(days=3).values()) == [2, 2, 2]


def test_the_error_is_told():
    assert visits.Estimate(1000).error == 8


@pytest.mark.parametrize(
    "agent",
    [
        "",
        "Googlebot/2.1 (+http://www.google.com/bot.html)",
        "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
        "curl/8.5.0",
        "python-requests/2.32",
        "Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/140.0.0.0 Safari/537.36",
    ],
)
def test_programs_are_left_out(visit, agent):
    assert looks_like_bot(agent)
    visit("ann", agent=agent)
    visits.flush()
    assert visits.unique().count == 0


def test_browsers_are_not_taken_for_programs():
    for agent in (
        FIREFOX,
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1",
        "Mozilla/5.0 (Linux; Android 15; CUBOT P80) AppleWebKit/537.36 Chrome/140 Mobile",
    ):
        assert not looks_like_bot(agent)


def test_a_browser_gets_an_opaque_id_once(visit):
    request = visit()
    response = HttpResponse()
    set_cookie(request, response)
    cookie = response.cookies[COOKIE]
    assert cookie.value == visitor_id(request)
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    again = HttpResponse()
    set_cookie(visit(cookie.value), again)
    assert COOKIE not in again.cookies


def test_a_forged_id_is_replaced(visit):
    request = visit("<script>alert(1)</script>")
    assert "<" not in visitor_id(request)


def test_an_account_counts_once_on_all_its_devices(visit):
    user = User(pk=7)
    visit("phone", user=user)
    visit("laptop", user=user)
    visit("tablet", user=User(pk=8))
    visits.flush()
    assert visits.unique().count == 2
    assert visits.active_by_day(days=1) == {timezone.localdate(): 2}


def active(client, day, *user_ids):
    for user_id in user_ids:
        client.setbit(keys.active_accounts(day.isoformat()), user_id, 1)


def test_retention_says_who_came_back_after_1_7_and_30_days(redis_client):
    last = date(2026, 3, 31)
    first = last - timedelta(days=30)
    active(redis_client, first, 1, 2, 3, 4)
    active(redis_client, first + timedelta(days=1), 2, 3, 9)
    active(redis_client, first + timedelta(days=7), 4)
    active(redis_client, last, 1, 2, 3)
    cohorts = {cohort.day: cohort for cohort in visits.retention(days=31, last=last)}
    assert cohorts[first] == visits.Cohort(first, 4, {1: 2, 7: 1, 30: 3})
    assert cohorts[first].share(30) == 0.75
    assert cohorts[last].returned == {1: None, 7: None, 30: None}
    assert cohorts[last - timedelta(days=1)].returned == {1: 0, 7: None, 30: None}
    assert cohorts[last - timedelta(days=1)].share(1) is None


def test_every_key_expires(visit, redis_client):
    visit(user=User(pk=7), board="chess")
    visits.flush()
    today = timezone.localdate()
    visits.retention(days=2, last=today + timedelta(days=1))
    found = redis_client.keys("visits:*")
    assert len(found) == 4
    for key in found:
        assert redis_client.ttl(key) > 0


def test_no_address_is_kept(visit, redis_client):
    request = visit(user=User(pk=7), board="chess")
    visits.flush()
    address = request.META["REMOTE_ADDR"].encode()
    for key in redis_client.keys("*"):
        assert address not in key + redis_client.get(key)


def test_while_redis_is_away_visits_wait_up_to_a_bound(visit, monkeypatch):
    visit("ann")

    def away():
        raise OUTAGE_ERRORS[0]

    with monkeypatch.context() as patch:
        patch.setattr(visits, "get_redis", away)
        with pytest.raises(OUTAGE_ERRORS):
            visits.flush()
    monkeypatch.setattr(visits, "MOST_WAITING", 1)
    visit("bob")
    visits.flush()
    assert visits.unique().count == 1


def test_a_thread_sends_what_came_together(visit, settings, monkeypatch):
    sent = threading.Event()
    flush = visits.flush

    def flush_and_tell():
        flush()
        sent.set()

    settings.VISITS_IN_BACKGROUND = True
    monkeypatch.setattr(visits, "FLUSH_SECONDS", 0.01)
    monkeypatch.setattr(visits, "flush", flush_and_tell)
    visit("ann")
    assert sent.wait(10)
    assert visits.unique().count == 1
