"""Imports go one way: config, then ratelimit, then sessions_app, then leaderboard, and inside
`leaderboard/` from room to room."""

import json
import subprocess
import sys

import pytest

from tests.imports import ORDER, ROOMS, ROOT

# The doors where the outermost wiring may look inwards.
WIRING = {"config/urls.py", "config/asgi.py"}
# What puts the rooms together, or belongs to Django.
NO_ROOM = {"__init__", "apps", "signals", "migrations"}


@pytest.fixture(scope="module")
def imports():
    command = [sys.executable, "-m", "tests.imports"]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)


@pytest.mark.parametrize("app", ORDER)
def test_an_app_imports_only_what_stands_before_it(imports, app):
    later = set(ORDER[ORDER.index(app) + 1 :])
    breaches = {
        f"{path} imports {name}"
        for path, names in imports.items()
        if path.startswith(f"{app}/") and path not in WIRING
        for name in names
        if name.split(".")[0] in later
    }
    assert not breaches


def room_of(path):
    return path.removesuffix(".py").split("/")[1]


def test_every_module_is_in_a_room(imports):
    rooms = {room_of(path) for path in imports if path.startswith("leaderboard/")}
    assert rooms - NO_ROOM == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_those_before_it(imports, room):
    later = set(ROOMS[ROOMS.index(room) + 1 :])
    breaches = {
        f"{path} imports {name}"
        for path, names in imports.items()
        if path.startswith("leaderboard/") and room_of(path) == room
        for name in names
        if name.startswith("leaderboard.") and name.split(".")[1] in later
    }
    assert not breaches


def test_the_engine_imports_no_django(imports):
    breaches = {
        f"{path} imports {name}"
        for path, names in imports.items()
        if path.startswith("leaderboard/engine/")
        for name in names
        if name.split(".")[0] in {"django", "django_redis"}
        or name.startswith(("config.redis.connections", "config.redis.locks", "config.settings"))
    }
    assert not breaches
