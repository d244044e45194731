"""Pages in the reader's language: texts, numbers, durations, and the stream's rows."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.test import Client
from django.utils import translation

from leaderboard import presentation
from leaderboard.closing.seasons import close_season
from leaderboard.live.boards import HtmlSource
from leaderboard.models import Board, Season
from sessions_app.models import Flag
from tests.leaderboard.pages.conftest import ACTOR, make_board, make_player, score

LANGUAGES = [code for code, _ in settings.LANGUAGES]
OTHERS = [code for code in LANGUAGES if code != "en"]
PAGES = [
    "/",
    "/boards/cup/",
    "/boards/cup/?window=day",
    "/boards/cup/?q=nobody",
    "/boards/cup/?display=wall",
    "/boards/cup/players/ada/",
    "/boards/cup/seasons/",
    "/boards/cup/seasons/1/",
    "/boards/cup/nearby/",
    "/boards/cup/nearby/?lat=52.5&lon=13.4",
    "/boards/cup/console/",
    "/boards/cup/submit/",
    "/accounts/",
    "/accounts/profile/",
    "/accounts/password/",
    "/accounts/devices/",
    "/accounts/notices/",
    "/accounts/reset/",
    "/accounts/reset/sent/",
    "/ops/",
    "/api/v1/docs",
    "/nothing/here/",
]
SIGNED_OUT = ["/accounts/login/", "/accounts/signup/", "/boards/cup/"]
# Words of ours that are on most pages, or on these; none of them is the same elsewhere.
ENGLISH = re.compile(
    r">\s*(Boards|Skip to content|Colours|Language|Rank|Player|Past seasons|Sign in|Join|You|"
    r"Notices|Refresh|Standings|Last updated|Season|Save|Show|players)\s*<"
)


def plain(html: str) -> str:
    return html.replace("\xa0", " ").replace("&nbsp;", " ")


@pytest.fixture
def cup(db: None) -> Board:
    for name in ("nearby", "wall"):
        Flag.objects.update_or_create(name=name, defaults={"state": Flag.State.ON})
    board = make_board(
        windows=["day"],
        score_format="decimals",
        score_decimals=1,
        submitters="demo",
        schedule="weekly",
    )
    score(board, "ada", 1234.5, name="Ada")
    close_season(board=board, actor=ACTOR, open_next=True)
    score(board, "ada", 98765.4, name="Ada")
    score(board, "bob", 1234.5, name="Bob")
    return board


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_drawn_in_the_language(client: Client, cup: Board, language: str) -> None:
    asked = {"HTTP_ACCEPT_LANGUAGE": language, "HTTP_ACCEPT": "text/html"}
    for path in SIGNED_OUT:
        check(client.get(path, **asked), language)
    user = make_player("ada")
    user.is_staff = user.is_superuser = True
    user.save()
    client.force_login(user)
    for path in PAGES:
        check(client.get(path, **asked), language)


def check(response: Any, language: str) -> None:
    path = response.request["PATH_INFO"]
    html = response.content.decode()
    assert response.status_code == (404 if "nothing" in path else 200), path
    assert f'<html lang="{language}"' in html, path
    if language != "en":
        assert not ENGLISH.findall(html), path


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "98,765.4"), ("de", "98.765,4"), ("fr", "98 765,4"), ("es", "98 765,4")],
)
def test_numbers_follow_the_reader(client: Client, cup: Board, language: str, text: str) -> None:
    for path in ("/", "/boards/cup/", "/boards/cup/players/ada/"):
        html = client.get(path, HTTP_ACCEPT_LANGUAGE=language).content.decode()
        assert text in plain(html), path


@pytest.mark.parametrize(("language", "text"), [("en", "1:02.500"), ("de", "1:02,500")])
def test_so_do_durations(language: str, text: str) -> None:
    with translation.override(language):
        assert presentation.duration_text(62.5, 3) == text


@pytest.mark.parametrize(
    ("name", "period", "english", "german"),
    [
        ("", "2026-W06", "Week 6, 2026", "Woche 6, 2026"),
        ("", "2026-W46 4", "Week 46, 2026, Season 4", "Woche 46, 2026, Saison 4"),
        ("", "2026-03", "March 2026", "März 2026"),
        ("", "2026-03-03", "3 March 2026", "3. März 2026"),
        ("", "", "Season 4", "Saison 4"),
        ("Summer edition", "2026-03", "Summer edition", "Summer edition"),
        ("Week 46, 2026", "", "Week 46, 2026", "Week 46, 2026"),
    ],
)
def test_seasons_without_a_given_name_are_named_in_the_readers_language(
    name: str, period: str, english: str, german: str
) -> None:
    season = Season(name=name, period=period, number=4)
    with translation.override("en"):
        assert season.title == english
    with translation.override("de"):
        assert season.title == german


def test_machines_read_plain_numbers_whatever_the_language(client: Client, cup: Board) -> None:
    html = client.get("/boards/cup/", HTTP_ACCEPT_LANGUAGE="de").content.decode()
    assert re.search(r'data-rank="1" data-name="Ada"', html)
    assert re.search(r'data-seq="\d+"', html)


def test_the_streams_rows_are_drawn_once_for_each_language(cup: Board) -> None:
    drawn = {}
    for language in ("de", "en"):
        source = HtmlSource(cup, "", language)
        picture = async_to_sync(source.read)()
        drawn[language] = json.loads(source.encode(None, picture))["rows"]["ada"]
    assert "98.765,4" in drawn["de"]
    assert "98,765.4" in drawn["en"]


def test_the_program_interface_speaks_english(client: Client, cup: Board) -> None:
    answer = client.get("/api/v1/boards/none", HTTP_ACCEPT_LANGUAGE="de")
    assert answer["Content-Language"] == "en"


def test_the_switch_works_without_script(client: Client, cup: Board) -> None:
    html = client.get("/boards/cup/").content.decode()
    assert 'action="/look/language/"' in html
    answer = client.post("/look/language/", {"language": "fr", "next": "/boards/cup/"})
    assert (answer.status_code, answer["Location"]) == (302, "/boards/cup/")
    # The choice wins over the browser's.
    html = client.get("/boards/cup/", HTTP_ACCEPT_LANGUAGE="de").content.decode()
    assert '<html lang="fr"' in html
    assert re.search(r'value="fr" lang="fr" aria-pressed="true"', html)


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:1", ""])
def test_the_switch_leads_nowhere_else(client: Client, db: None, target: str) -> None:
    answer = client.post("/look/language/", {"language": "de", "next": target})
    assert answer["Location"] == "/"


@pytest.mark.parametrize("language", ["", "xx", "../../etc", "en; drop", "d" * 5000])
def test_the_switch_knows_only_our_languages(client: Client, db: None, language: str) -> None:
    answer = client.post("/look/language/", {"language": language, "next": "/"})
    assert answer.status_code == 302
    assert not answer.cookies


@pytest.mark.parametrize("address", ["/look/language/", "/look/theme/"])
def test_the_switches_take_no_order_from_another_site(
    client: Client, db: None, address: str
) -> None:
    sent = {"language": "de", "theme": "dark"}
    assert client.get(address).status_code == 405
    for site in ("cross-site", "same-site"):
        assert client.post(address, sent, HTTP_SEC_FETCH_SITE=site).status_code == 403


def test_pages_say_that_they_vary_with_the_language(client: Client, cup: Board) -> None:
    answer = client.get("/boards/cup/", HTTP_ACCEPT_LANGUAGE="es")
    assert "Accept-Language" in answer["Vary"]
    assert answer["Content-Language"] == "es"
