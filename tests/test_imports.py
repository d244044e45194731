"""Imports go one way: config, then ratelimit, then sessions_app, then leaderboard."""

import json
import subprocess
import sys

import pytest

from tests.imports import ORDER, ROOT

# The doors where the outermost wiring may look inwards.
WIRING = {"config/urls.py", "config/asgi.py"}


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


def test_the_engine_imports_no_django(imports):
    breaches = {
        f"{path} imports {name}"
        for path, names in imports.items()
        if path.startswith("leaderboard/engine/")
        for name in names
        if name.split(".")[0] in {"django", "django_redis"}
        or name in {"config.redis", "config.locks", "config.settings"}
    }
    assert not breaches
