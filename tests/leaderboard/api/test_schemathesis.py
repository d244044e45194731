"""Schemathesis reads the OpenAPI document and tries to break what it describes."""

import os

import httpx
import pytest
import schemathesis
from asgiref.sync import async_to_sync
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from config.redis.connections import close_async_redis
from leaderboard.access.audit import Actor
from leaderboard.api.app import api
from leaderboard.boards import nearby
from leaderboard.closing import seasons
from sessions_app import flags
from sessions_app.models import Flag
from tests.leaderboard.api.support import application, connection_kept, make_key
from tests.leaderboard.support import open_board, submit

# Few and always the same in the suite; `make fuzz` tries many new ones.
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "8"))
ALWAYS_THE_SAME = "FUZZ_EXAMPLES" not in os.environ
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def document():
    """With the names of what is there, so that some calls get further than `no such board`."""
    schema = api.get_openapi_schema(path_prefix="/api/v1/")
    names = {
        "slug": ["cup"],
        "player": ["ada", "nobody", "a/b", "🦊"],
        "field": ["country", "team"],
    }
    for methods in schema["paths"].values():
        for operation in methods.values():
            for parameter in operation["parameters"]:
                if parameter["in"] == "path" and parameter["name"] in names:
                    parameter["schema"] = {"type": "string", "enum": names[parameter["name"]]}
    return dict(schema)


SCHEMA = schemathesis.openapi.from_dict(document())
OPERATIONS = {
    f"{operation.ok().method.upper()} {operation.ok().path}": operation.ok()
    for operation in SCHEMA.get_all_operations()
}


@pytest.fixture
def served(db):
    """A board with everything on, and the flag of the places."""
    Flag.objects.update_or_create(name="nearby", defaults={"state": Flag.State.ON})
    flags.forget()
    board = open_board(groups=["country"], windows=["day", "all"], subscore_order="asc")
    for player, score in (("ada", 3), ("lin", 2)):
        submit(board, player, score, details={"country": "DE"})
        nearby.share(board, player, 52.5, 13.4)
    seasons.close_season(board=board, actor=Actor("test"), open_next=True)
    submit(board, "ada", 5, details={"country": "DE"})
    app, token = application(), make_key("read", "submit", "moderate", "admin")
    with connection_kept():
        yield lambda case: async_to_sync(send)(app, token, case)
    flags.forget()


async def send(app, token, case):
    options = case.as_transport_kwargs(base_url="http://localhost")
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport) as client:
        body = {name: options[name] for name in ("json", "content") if name in options}
        if "data" in options:
            body = {"content": options["data"]}
        headers = {**(options.get("headers") or {}), "Authorization": f"Bearer {token}"}
        request = client.build_request(
            options["method"],
            options["url"],
            params=options.get("params") or None,
            headers={
                name.encode("latin-1", "replace"): str(value).encode("latin-1", "replace")
                for name, value in headers.items()
            },
            **body,
        )
        try:
            response = await client.send(request)
            await response.aread()
            return response
        finally:
            await close_async_redis()


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - {"GET /api/v1/boards/{slug}/live"}))
def test_it_finds_nothing(served, name, mode):
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=ALWAYS_THE_SAME,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=OPERATIONS[name].as_strategy(generation_mode=mode))
    def run(case):
        case.validate_response(served(case), checks=CHECKS)

    if name == "GET /api/v1/boards" and mode is GenerationMode.NEGATIVE:
        pytest.skip("It takes nothing that could be wrong.")
    run()
