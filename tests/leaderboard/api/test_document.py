"""The OpenAPI document and the interactive page."""

import gzip
import json
import re
from typing import get_args

import pytest

from leaderboard.access.audit import Actor
from leaderboard.api.app import Api as NinjaApi
from leaderboard.api.problems import ErrorCode
from leaderboard.closing import seasons
from leaderboard.models import Season
from sessions_app import flags
from sessions_app.models import Flag
from tests.leaderboard.api.support import Api, make_key
from tests.leaderboard.support import open_board, submit

pytestmark = pytest.mark.django_db

# The names by which generated clients call the operations: none may change.
OPERATIONS = {
    "GET /boards": "listBoards",
    "GET /boards/{slug}": "getBoard",
    "GET /boards/{slug}/entries": "listEntries",
    "GET /boards/{slug}/entries/around-rank/{rank}": "listEntriesAroundRank",
    "GET /boards/{slug}/entries/around/{player}": "listEntriesAroundPlayer",
    "GET /boards/{slug}/entries/range": "listEntriesInRange",
    "POST /boards/{slug}/entries/among": "listEntriesAmong",
    "GET /boards/{slug}/groups/{field}/{value}/entries": "listEntriesOfGroup",
    "GET /boards/{slug}/distribution": "getDistribution",
    "GET /boards/{slug}/players/{player}": "getPlayer",
    "PATCH /boards/{slug}/players/{player}": "updatePlayerDetails",
    "DELETE /boards/{slug}/players/{player}": "removePlayer",
    "GET /boards/{slug}/players/{player}/history": "getPlayerHistory",
    "POST /boards/{slug}/scores": "submitScore",
    "POST /boards/{slug}/scores/bulk": "submitScores",
    "GET /boards/{slug}/seasons": "listSeasons",
    "GET /boards/{slug}/seasons/{number}/standings": "getStandings",
    "POST /boards/{slug}/seasons/close": "closeSeason",
    "POST /boards/{slug}/reset": "resetBoard",
    "GET /boards/{slug}/presence": "getPresence",
    "PUT /boards/{slug}/players/{player}/location": "shareLocation",
    "DELETE /boards/{slug}/players/{player}/location": "forgetLocation",
    "GET /boards/{slug}/nearby": "listPlayersNearby",
    "GET /boards/{slug}/live": "watchBoard",
    "POST /boards/{slug}/live/ticket": "createLiveTicket",
}


@pytest.fixture
def document(client):
    return client.get("/api/v1/openapi.json").json()


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path.removeprefix('/api/v1')}", operation


def test_every_operation_is_documented_once_under_a_name_that_stays(document):
    assert document["openapi"].startswith("3.1")
    found = {name: operation["operationId"] for name, operation in operations(document)}
    assert found == OPERATIONS
    assert len(set(found.values())) == len(found)


def test_every_operation_has_a_summary_and_an_example(document):
    def resolved(schema):
        while "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema

    def has_example(content):
        return "example" in content or "example" in resolved(content["schema"])

    for name, operation in operations(document):
        assert operation["summary"], name
        assert operation["description"], name
        answers = operation["responses"]
        assert any(has_example(one) for one in answers["200"]["content"].values()), name
        assert "application/problem+json" in answers["default"]["content"], name
        for content in operation.get("requestBody", {}).get("content", {}).values():
            assert has_example(content), name


def test_writes_take_an_idempotency_key_and_a_key(document):
    for name, operation in operations(document):
        names = {parameter["name"] for parameter in operation["parameters"]}
        is_write = not name.startswith("GET") and not name.endswith("/among")
        # A ticket is good for a minute, an answer kept for a retry would be older.
        is_kept = is_write and not name.endswith("/ticket")
        assert ("Idempotency-Key" in names) == is_kept, name
        assert ({} in operation["security"]) == (not is_write), name


def test_the_page_needs_no_other_host_and_no_inline_script(client):
    answer = client.get("/api/v1/docs")
    assert answer.status_code == 200
    page = answer.content.decode()
    assert "unsafe-inline" not in answer["Content-Security-Policy"]
    assert not re.search(r'(src|href)="(https?:)?//', page)
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
    assert scripts
    for attributes, text in scripts:
        assert 'type="application/json"' in attributes or ("src=" in attributes and not text)
    assert not re.search(r"\sstyle=|<style", page)
    assert "/api/v1/openapi.json" in page


def test_no_name_stands_twice_in_the_document(client):
    """A browser's reader refuses such a document; Python's takes the last and says nothing."""

    def checked(pairs):
        names = [name for name, _ in pairs]
        assert len(names) == len(set(names)), names
        return dict(pairs)

    text = client.get("/api/v1/openapi.json").content.decode()
    json.loads(text, object_pairs_hook=checked)


def schemas_in(document):
    """Every schema, with its place: those of components, parameters, bodies and answers."""

    def walk(node, place):
        if isinstance(node, list):
            for number, one in enumerate(node):
                yield from walk(one, (*place, number))
        elif isinstance(node, dict):
            if isinstance(node.get("type"), str):
                yield place, node
            for name, one in node.items():
                if name not in ("example", "examples", "enum"):
                    yield from walk(one, (*place, name))

    return walk(document, ())


def test_every_number_has_its_format(document):
    formats = {"integer": "int64", "number": "double"}
    found = [(place, one) for place, one in schemas_in(document) if one["type"] in formats]
    assert len(found) > 50
    for place, schema in found:
        assert schema.get("format") == formats[schema["type"]], place


def values_of(document, name, field):
    """The words that a field may hold; null, where it may be null, left out."""
    schema = document["components"]["schemas"][name]["properties"][field]
    for one in schema.get("anyOf", [schema]):
        if "$ref" in one:
            one = document["components"]["schemas"][one["$ref"].rpartition("/")[2]]
        if "enum" in one:
            return set(one["enum"])
    return None


@pytest.mark.parametrize(
    ("name", "field", "words"),
    [
        ("BoardOut", "visibility", {"public", "unlisted", "private"}),
        ("BoardOut", "order", {"desc", "asc"}),
        ("BoardOut", "subscore", {"desc", "asc"}),
        ("BoardOut", "operator", {"set", "best", "sum"}),
        ("BoardOut", "ties", {"earliest", "latest", "member"}),
        ("BoardOut", "ranking", {"ordinal", "competition", "dense"}),
        ("ScoreIn", "operator", {"set", "best", "sum"}),
        ("HistoryEvent", "operator", {"set", "best", "sum"}),
        ("SeasonNow", "state", {"planned", "open", "paused", "closed"}),
        ("SeasonOut", "state", set(Season.State)),
        ("LiveStandings", "state", {"planned", "open", "paused", "closed"}),
        ("EntryPage", "window", {"season", "day", "week", "month", "all"}),
        ("Problem", "code", set(get_args(ErrorCode.__value__))),
        ("RowError", "code", set(get_args(ErrorCode.__value__))),
    ],
)
def test_a_field_that_holds_one_of_a_few_words_lists_them(document, name, field, words):
    assert values_of(document, name, field) == words


def test_no_schema_is_unreferenced(document):
    text = json.dumps(document)
    for kind, components in document["components"].items():
        for name in components if kind != "securitySchemes" else ():
            assert f'"#/components/{kind}/{name}"' in text, name


def test_every_reference_leads_somewhere(document):
    for kind, name in re.findall(r'"#/components/(\w+)/(\w[\w-]*)"', json.dumps(document)):
        assert name in document["components"][kind]


@pytest.fixture
def calls(db):
    """A request that succeeds for every operation, in an order in which they can be made."""
    Flag.objects.update_or_create(name="nearby", defaults={"state": Flag.State.ON})
    flags.forget()
    board = open_board(groups=["country"])
    submit(board, "ada", 3, details={"country": "DE"})
    seasons.close_season(board=board, actor=Actor("test"), open_next=True)
    submit(board, "ada", 5, details={"country": "DE"})
    place = {"lat": 52.5, "lon": 13.4}
    yield {
        "listBoards": ("GET", "boards"),
        "getBoard": ("GET", "boards/cup"),
        "getPresence": ("GET", "boards/cup/presence"),
        "listEntries": ("GET", "boards/cup/entries"),
        "listEntriesAroundPlayer": ("GET", "boards/cup/entries/around/ada"),
        "listEntriesAroundRank": ("GET", "boards/cup/entries/around-rank/1"),
        "listEntriesInRange": ("GET", "boards/cup/entries/range"),
        "listEntriesAmong": ("POST", "boards/cup/entries/among", {"players": ["ada"]}),
        "listEntriesOfGroup": ("GET", "boards/cup/groups/country/DE/entries"),
        "getDistribution": ("GET", "boards/cup/distribution"),
        "getPlayer": ("GET", "boards/cup/players/ada"),
        "getPlayerHistory": ("GET", "boards/cup/players/ada/history"),
        "listSeasons": ("GET", "boards/cup/seasons"),
        "getStandings": ("GET", "boards/cup/seasons/1/standings"),
        "submitScore": ("POST", "boards/cup/scores", {"player": "ada", "score": 6}),
        "submitScores": ("POST", "boards/cup/scores/bulk", [{"player": "ada", "score": 7}]),
        "updatePlayerDetails": ("PATCH", "boards/cup/players/ada", {"details": {"name": "Ada"}}),
        "shareLocation": ("PUT", "boards/cup/players/ada/location", place),
        "listPlayersNearby": ("GET", "boards/cup/nearby?lat=52.5&lon=13.4"),
        "forgetLocation": ("DELETE", "boards/cup/players/ada/location"),
        "createLiveTicket": ("POST", "boards/cup/live/ticket"),
        "removePlayer": ("DELETE", "boards/cup/players/ada"),
        "resetBoard": ("POST", "boards/cup/reset"),
        "closeSeason": ("POST", "boards/cup/seasons/close", {}),
    }
    flags.forget()


# What HTTP itself or a browser reads: it means the same on every site.
COMMON = {"cache-control", "content-length", "content-type", "vary"}
COMMON |= {"cross-origin-opener-policy", "referrer-policy", "x-content-type-options"}
COMMON |= {"content-security-policy", "permissions-policy", "x-frame-options", "content-language"}


def test_every_header_of_an_answer_is_documented_where_it_is_sent(document, calls, api):
    assert set(calls) == set(OPERATIONS.values()) - {"watchBoard"}
    described = {one["operationId"]: one["responses"] for _, one in operations(document)}
    for name, (method, path, *body) in calls.items():
        headers = {"Idempotency-Key": f"key-of-{name}"} if method != "GET" else {}
        sent_body = body[0] if body else None
        answers = [api.call(method, path, json=sent_body, headers=headers) for _ in "12"]
        if "ETag" in answers[0].headers:
            known = {"If-None-Match": answers[0].headers["ETag"]}
            answers.append(api.call(method, path, json=sent_body, headers=known))
        sent = {}
        for answer in answers:
            assert answer.status_code in (200, 304), (name, answer.text)
            found = set(answer.headers) - COMMON
            sent.setdefault(str(answer.status_code), set()).update(found)
        for status in ("200", "304"):
            documented = {one.lower() for one in described[name].get(status, {}).get("headers", ())}
            assert sent.get(status, set()) == documented, (name, status)


def test_the_headers_of_errors_are_documented(document, board, api, stranger):
    refusals = [
        stranger.post("boards/cup/reset"),
        api.get("boards/nothing"),
        api.call("POST", "boards/cup/scores", body=b"{", headers={"Content-Encoding": "gzip"}),
    ]
    slow = Api(make_key("read", rate="1/hour"))
    refusals += [slow.get("boards") for _ in "12"][1:]
    assert [one.status_code for one in refusals] == [401, 404, 415, 429]
    sent = {name for one in refusals for name in one.headers} - COMMON
    for name, operation in operations(document):
        documented = {one.lower() for one in operation["responses"]["default"]["headers"]}
        assert documented == sent, name


def test_the_document_is_written_once_and_not_sent_again(client, monkeypatch):
    first = client.get("/api/v1/openapi.json")
    monkeypatch.setattr(NinjaApi, "get_openapi_schema", None)  # nobody writes it again
    again = client.get("/api/v1/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(again.content) == first.content
    assert again["ETag"] == first["ETag"]
    known = client.get("/api/v1/openapi.json", headers={"If-None-Match": first["ETag"]})
    assert (known.status_code, known.content) == (304, b"")
    head = client.head("/api/v1/openapi.json")
    assert (head.status_code, head.content) == (200, b"")
    assert int(head["Content-Length"]) == len(first.content)
    assert client.post("/api/v1/openapi.json").status_code == 405
