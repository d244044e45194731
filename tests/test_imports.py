"""Imports go one way: config, then ratelimit, then sessions_app, then leaderboard."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ORDER = ["config", "ratelimit", "sessions_app", "leaderboard"]
# The doors where the outermost wiring may look inwards.
WIRING = {"config/urls.py", "config/asgi.py"}


def imported_modules(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return names


@pytest.mark.parametrize("app", ORDER)
def test_an_app_imports_only_what_stands_before_it(app):
    later = set(ORDER[ORDER.index(app) + 1 :])
    breaches = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in (ROOT / app).rglob("*.py")
        if str(path.relative_to(ROOT)) not in WIRING
        for name in imported_modules(path)
        if name.split(".")[0] in later
    }
    assert not breaches


def test_the_engine_imports_no_django():
    breaches = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in (ROOT / "leaderboard" / "engine").rglob("*.py")
        for name in imported_modules(path)
        if name.split(".")[0] in {"django", "django_redis"}
        or name in {"config.redis", "config.locks", "config.settings"}
    }
    assert not breaches
