"""What each module of the product imports, read with `ast`: `python -m tests.imports`.

In a process of its own: Python 3.11 counts the depth of a syntax tree in one place for all
threads, and a test process has threads of many kinds.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# From the first to the last: each may import those before it.
ORDER = ["config", "ratelimit", "sessions_app", "leaderboard"]
# The rooms of `leaderboard/`, likewise; docs/architecture.md says what each holds.
ROOMS = [
    "keys",
    "errors",
    "entries",
    "engine",
    "models",
    "presentation",
    "access",
    "seasons",
    "log",
    "notices",
    "closing",
    "boards",
    "files",
    "live",
    "sample",
    "api",
    "pages",
    "admin",
    "worker",
    "management",
]


def imported_modules(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


if __name__ == "__main__":
    found = {
        str(path.relative_to(ROOT)): sorted(imported_modules(path))
        for app in ORDER
        for path in sorted((ROOT / app).rglob("*.py"))
    }
    print(json.dumps(found))
