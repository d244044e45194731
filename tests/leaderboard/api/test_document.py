"""The OpenAPI document and the interactive page."""

import json
import re

import pytest

pytestmark = pytest.mark.django_db

OPERATIONS = {
    "GET /boards",
    "GET /boards/{slug}",
    "GET /boards/{slug}/entries",
    "GET /boards/{slug}/entries/around-rank/{rank}",
    "GET /boards/{slug}/entries/around/{player}",
    "GET /boards/{slug}/entries/range",
    "POST /boards/{slug}/entries/among",
    "GET /boards/{slug}/groups/{field}/{value}/entries",
    "GET /boards/{slug}/distribution",
    "GET /boards/{slug}/players/{player}",
    "PATCH /boards/{slug}/players/{player}",
    "DELETE /boards/{slug}/players/{player}",
    "GET /boards/{slug}/players/{player}/history",
    "POST /boards/{slug}/scores",
    "POST /boards/{slug}/scores/bulk",
    "GET /boards/{slug}/seasons",
    "GET /boards/{slug}/seasons/{number}/standings",
    "POST /boards/{slug}/seasons/close",
    "POST /boards/{slug}/reset",
    "GET /boards/{slug}/presence",
    "PUT /boards/{slug}/players/{player}/location",
    "DELETE /boards/{slug}/players/{player}/location",
    "GET /boards/{slug}/nearby",
    "GET /boards/{slug}/live",
    "POST /boards/{slug}/live/ticket",
}


@pytest.fixture
def document(client):
    return client.get("/api/v1/openapi.json").json()


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path.removeprefix('/api/v1')}", operation


def test_every_operation_is_documented_once(document):
    assert document["openapi"].startswith("3.1")
    found = [name for name, _ in operations(document)]
    assert sorted(found) == sorted(OPERATIONS)
    ids = [operation["operationId"] for _, operation in operations(document)]
    assert len(set(ids)) == len(ids)


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
        assert ("Idempotency-Key" in names) == is_write, name
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
