"""The codes of errors: those that the code raises are those that the document lists."""

import ast
from pathlib import Path
from typing import get_args

from leaderboard.api.hot.errors import SENT_AS
from leaderboard.api.problems import ErrorCode

ROOT = Path(__file__).resolve().parents[3]
PLACES = [
    "leaderboard/api",
    "leaderboard/engine",
    "leaderboard/errors.py",
    "leaderboard/boards/nearby.py",
    "config",
    "ratelimit/answers.py",
]
# Where an error's code is among the arguments; elsewhere it is the keyword `code`.
POSITIONS = {
    "ApiError": 1,
    "problem_body": 1,
    "problem_response": 1,
    "error_response": 2,
    "not_found": 1,
}
# Mistakes of a program that uses the engine, and of pages: the API's own checks come first.
NOT_OF_THE_API = {
    "csrf_failed",
    "forbidden",
    "invalid_key",
    "invalid_rule",
    "invalid_union",
    "read_only",
    "unknown_rule",
    "would_lose",
}


def raised():
    return {code for tree in trees() for node in ast.walk(tree) for code in codes_in(node)}


def trees():
    for place in PLACES:
        path = ROOT / place
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            yield ast.parse(source.read_text())


def codes_in(node):
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if len(node.args) > POSITIONS.get(name, 100):
            yield from words(node.args[POSITIONS[name]])
        if name.endswith("Error") or name == "__init__":
            for keyword in node.keywords:
                yield from words(keyword.value) if keyword.arg == "code" else ()
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        if name in ("code", "CODE"):
            yield from words(node.value)
        elif name == "_REFUSALS":
            yield from words(*node.value.keys)
        elif name == "_CODES":
            yield from words(*node.value.values)
    elif isinstance(node, ast.Tuple) and len(node.elts) == 2:
        code, sentence = node.elts
        if isinstance(sentence, ast.Call) or " " in "".join(words(sentence)):
            yield from words(code)


def words(*nodes):
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_every_code_that_can_be_sent_is_listed_and_no_other():
    listed = get_args(ErrorCode.__value__)
    assert len(listed) == len(set(listed))
    sent = {SENT_AS.get(code, code) for code in raised()}
    assert sent - NOT_OF_THE_API == set(listed)
