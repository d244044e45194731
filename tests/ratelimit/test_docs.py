"""`docs/rate-limits.md` says what the code does."""

import re
from pathlib import Path

import pytest

from config.errors import ConfigurationError
from ratelimit import headers, policies
from ratelimit.algorithms import Algorithm
from ratelimit.sentence import parse
from tests.ratelimit import pictures

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "rate-limits.md").read_text()


def test_its_pictures_show_the_algorithms_as_they_are():
    for name, drawn in pictures.pictures().items():
        assert f"(pictures/{name})" in PAGE
        assert (pictures.FOLDER / name).read_text() == drawn, (
            "docs/pictures is out of date: run `python -m tests.ratelimit.pictures`"
        )


def test_its_sentences_can_be_read():
    sentences = re.findall(r'^    "\w+": "(.+)",$', PAGE, re.MULTILINE)
    assert len(sentences) == 3
    for sentence in sentences:
        parse("test", sentence)


def test_it_names_every_algorithm():
    assert all(f"| {algorithm.words} |" in PAGE for algorithm in Algorithm)


def test_its_error_is_the_one_that_is_shown(settings):
    settings.RATE_LIMITS = {"search": "5/secnd by user"}
    with pytest.raises(ConfigurationError) as error:
        policies.configure()
    assert f"rostrum: {error.value}" in PAGE


def test_its_headers_are_those_of_the_product():
    policy = policies.get("login")
    assert headers.policy_value(policy) in PAGE
