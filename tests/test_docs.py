"""What the pages say exists: links, commands, make targets, settings."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def names(paths):
    return [str(path.relative_to(ROOT)) for path in paths]


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_every_link_leads_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text())
    local = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_every_command_exists(page):
    text = page.read_text()
    commands = set(re.findall(r"manage\.py ([a-z_]+)", text))
    assert commands - set(get_commands()) == set()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE)) - targets == set()


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_no_output_was_pasted_in_by_accident(page):
    text = page.read_text()
    assert "file:///" not in text
    headings = re.findall(r"^## .*", text.lower(), re.MULTILINE)
    assert sorted(headings) == sorted(set(headings))


def test_the_example_environment_names_every_variable_that_is_read():
    read = set()
    for path in (ROOT / "config").rglob("*.py"):
        read |= set(re.findall(r"environment\.\w+\(\s*\"([A-Z_]+)\"", path.read_text()))
    example = (ROOT / ".env.example").read_text()
    assert set(re.findall(r"^#?([A-Z_]+)=", example, re.MULTILINE)) == read


def test_the_readme_begins_with_the_two_commands():
    readme = (ROOT / "README.md").read_text()
    assert readme.index("make run") < readme.index("make test") < readme.index("![")


def test_pins_are_exact():
    for name in ("requirements.txt", "requirements-dev.txt"):
        for line in (ROOT / name).read_text().splitlines():
            assert (
                not line
                or line.startswith(("#", "-r "))
                or re.fullmatch(r"[\w.\[\],-]+==[\w.]+", line)
            )


def test_the_path_of_a_score_is_short_and_names_real_files():
    page = (ROOT / "docs" / "architecture.md").read_text()
    path = page.partition("## The path of a score")[2].partition("From Redis to readers")[0]
    assert 8 <= len(re.findall(r"^\d+\. ", path, re.MULTILINE)) <= 12
    named = re.findall(r"`([a-z_/]+\.(?:py|lua|html))`", page)
    assert len(named) > 30
    # Inside `leaderboard/` a path can be written from there.
    folders = (ROOT, ROOT / "leaderboard")
    assert [name for name in named if not any((place / name).exists() for place in folders)] == []
