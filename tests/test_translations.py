"""Every text of the product is there in every language, and says the same things."""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("config", "ratelimit", "sessions_app", "leaderboard")
LANGUAGES = [code for code, _ in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
CALLS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy"}
# What Django's own extractor leaves of a template: calls among letters X.
TEMPLATE_CALL = re.compile(r"\b(?:n?gettext|_)\((.*?)\)\s", re.DOTALL)
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd%]")
TEXT = re.compile(r'^(msgid|msgid_plural|msgstr|msgstr\[\d\]) "(.*)"$')


def texts_of_code(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            function = node.func
            name = getattr(function, "id", getattr(function, "attr", ""))
            if name in CALLS and node.args and isinstance(node.args[0], ast.Constant):
                yield node.args[0].value


def texts_of_template(path: Path) -> Iterator[str]:
    for call in TEMPLATE_CALL.findall(templatize(path.read_text(), origin=str(path)) + "\n"):
        found = ast.parse(f"({call},)", mode="eval").body
        assert isinstance(found, ast.Tuple)
        yield ast.literal_eval(found.elts[0])


@cache
def all_texts() -> dict[str, Path]:
    code = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    found = {text: path for path in code for text in texts_of_code(path)}
    for path in (ROOT / "templates").rglob("*.*"):
        found |= dict.fromkeys(texts_of_template(path), path)
    return found


def catalogue(language: str) -> gettext.GNUTranslations:
    with (ROOT / "locale" / language / "LC_MESSAGES" / "django.mo").open("rb") as file:
        return gettext.GNUTranslations(file)


def translated(catalogue: gettext.GNUTranslations, text: str) -> list[str]:
    """One or two forms; nothing when it is missing."""
    known = catalogue._catalog  # type: ignore[attr-defined]
    forms = [known.get(text), known.get((text, 0)), known.get((text, 1))]
    return [form for form in forms if form]


def test_the_texts_are_found() -> None:
    """Or the next test would pass with none."""
    texts = all_texts()
    assert len(texts) > 600
    for text in ("Find a player", "Your score is in.", "%(online)s online", "%%s takes the lead"):
        assert text in texts


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_lacks_its_translation(language: str) -> None:
    known = catalogue(language)
    missing = [
        f"{path.relative_to(ROOT)}: {text}"
        for text, path in all_texts().items()
        if not translated(known, text)
    ]
    assert missing == [], f"run `make messages`, then fill locale/{language}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_keep_what_is_filled_in(language: str) -> None:
    known = catalogue(language)
    wrong = []
    for text in all_texts():
        wanted = sorted(PLACEHOLDER.findall(text))
        wrong += [
            form for form in translated(known, text) if sorted(PLACEHOLDER.findall(form)) != wanted
        ]
    assert wrong == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_compiled_file_is_the_written_one(language: str) -> None:
    """`make messages` compiles; nothing else than the packages is needed to run."""
    written: dict[str, str] = {}
    text = ""
    for line in (ROOT / "locale" / language / "LC_MESSAGES" / "django.po").read_text().splitlines():
        if line == "#, fuzzy" or line.startswith("#, fuzzy,"):
            pytest.fail(f"{language}: a translation is only guessed")
        if found := TEXT.match(line):
            value = ast.literal_eval(f'"{found[2]}"')
            if found[1] == "msgid":
                text = value
            elif found[1] in {"msgstr", "msgstr[0]"} and text:
                written[text] = value
    known = catalogue(language)
    assert len(written) > 600
    assert [text for text, value in written.items() if translated(known, text)[:1] != [value]] == []
