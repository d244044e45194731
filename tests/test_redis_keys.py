"""`docs/redis-keys.md` shows every key that a `keys.py` can build, and nothing else.

A key builder is a public function in an app's `keys.py` that returns `str`. Its docstring's first
line is its row: `<type>: <what it holds>; TTL <how long>; written by <whom>`. It is called with
`<name>` for each argument, so the pattern comes from the code; `PLACEHOLDERS` in the module gives
an argument another stand-in.

`python -m tests.test_redis_keys` writes the tables anew.
"""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "redis-keys.md"
APPS = [
    app
    for app in ("config", "ratelimit", "sessions_app", "leaderboard")
    if (ROOT / app / "keys.py").exists()
]
FIRST_LINE = re.compile(
    r"(?P<type>[\w ]+): (?P<holds>.+); TTL (?P<ttl>.+); written by (?P<writer>.+?)\.?"
)
COLUMNS = ("key", "type", "holds", "TTL", "written by")


def load_keys(app):
    """The module by its file: no app's `__init__` decides what is imported."""
    spec = importlib.util.spec_from_file_location(f"{app}_keys", ROOT / app / "keys.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def key_builders(module):
    for name, function in vars(module).items():
        if (
            inspect.isfunction(function)
            and not name.startswith("_")
            and function.__module__ == module.__name__
            and inspect.signature(function).return_annotation in (str, "str")
        ):
            yield name, function


def row(module, name, function):
    first_line = " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
    match = FIRST_LINE.fullmatch(first_line)
    assert match, (
        f"{name}: the docstring must begin '<type>: <what>; TTL <how long>; written by <whom>'"
    )
    placeholders = getattr(module, "PLACEHOLDERS", {})
    arguments = {
        parameter: placeholders.get(parameter, f"<{parameter}>")
        for parameter, details in inspect.signature(function).parameters.items()
        if details.default is inspect.Parameter.empty
    }
    cells = (f"`{function(**arguments)}`", *match.group("type", "holds", "ttl", "writer"))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table(app):
    module = load_keys(app)
    head = "| " + " | ".join(COLUMNS) + " |"
    rows = [row(module, name, function) for name, function in key_builders(module)]
    return "\n".join([head, "|" + "---|" * len(COLUMNS), *rows])


def written_table(page, app):
    match = re.search(rf"^## {app}\n.*?(\|.*?)(?=\n\n|\n*\Z)", page, re.DOTALL | re.MULTILINE)
    return match.group(1).strip() if match else ""


@pytest.mark.parametrize("app", APPS)
def test_the_page_shows_the_keys_of(app):
    assert written_table(PAGE.read_text(), app) == table(app), (
        "docs/redis-keys.md is out of date: run `python -m tests.test_redis_keys`"
    )


def test_the_page_shows_no_other_app():
    assert re.findall(r"^## (\w+)$", PAGE.read_text(), re.MULTILINE) == APPS


def write():
    introduction = PAGE.read_text().partition("\n## ")[0].rstrip()
    sections = [f"## {app}\n\n{table(app)}" for app in APPS]
    PAGE.write_text("\n\n".join([introduction, *sections]) + "\n")


if __name__ == "__main__":
    write()
