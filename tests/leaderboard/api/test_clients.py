"""Clients made from the OpenAPI document by the usual generators: whole, and with strict types."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leaderboard.api.app import api
from tests.browser import tools

PYTHON_PROGRAM = """\
from client import AuthenticatedClient
from client.api.scores import submit_score
from client.models import ErrorCode, Operator, Problem, ScoreIn, ScoreResult


def rank(client: AuthenticatedClient) -> int | None:
    row = ScoreIn(player="ada", score=9120.0)
    answer = submit_score.sync("cup", client=client, body=row, idempotency_key="first")
    if isinstance(answer, Problem):
        assert answer.code is ErrorCode.SEASON_CLOSED, answer.retry_after
        return None
    return answer.rank if isinstance(answer, ScoreResult) else None


LATEST: Operator = Operator.SET
"""
TYPESCRIPT_PROGRAM = """\
import type { components, operations } from "./schema";

type Submitting = operations["submitScore"];
type Answers = Submitting["responses"];
type Schemas = components["schemas"];

export const row: Submitting["requestBody"]["content"]["application/json"] = {
  player: "ada",
  score: 9120,
  operator: "best",
};

export function rank(result: Answers[200]["content"]["application/json"]): number | null {
  return result.rank;
}

export function mayRetry(problem: Answers["default"]["content"]["application/problem+json"]) {
  return problem.code === "rate_limited" && (problem.retry_after ?? 0) < 60;
}

export function leader(event: Schemas["LiveEvent"]): string | undefined {
  return "order" in event.data ? event.data.order[0]?.[0] : undefined;
}

// @ts-expect-error: no board has such an order
export const order: Schemas["Order"] = "sideways";
"""


def run(*command: str | Path, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def document(tmp_path):
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(api.get_openapi_schema(path_prefix="/api/v1/")))
    return path


def test_a_python_client_has_every_operation_and_strict_types(document, tmp_path):
    (tmp_path / "config.yml").write_text("post_hooks: []\n")  # it need not look pretty
    (tmp_path / "program.py").write_text(PYTHON_PROGRAM)
    generate = [sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning"]
    options = ["--config", "config.yml", "--meta", "none", "--output-path", "client"]
    run(*generate, "--path", document, *options, cwd=tmp_path)
    # What mypy learned of the packages that the client uses is kept for the next time.
    cache = tools.ROOT / ".mypy_cache" / "clients"
    check = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}"]
    run(*check, "client", "program.py", cwd=tmp_path)


def test_a_typescript_client_has_strict_types(document, tmp_path):
    generator = tools.node_module("openapi-typescript/bin/cli.js")
    compiler = tools.node_module("typescript/bin/tsc")
    node = shutil.which("node") or "node"
    (tmp_path / "program.ts").write_text(TYPESCRIPT_PROGRAM)
    run(node, generator, document, "--output", "schema.ts", cwd=tmp_path)
    # Only the compiler's own libraries are left unchecked.
    options = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2022"]
    run(node, compiler, *options, "schema.ts", "program.ts", cwd=tmp_path)


def test_the_packages_from_npm_are_locked_without_a_registry():
    lock = json.loads((tools.HERE / "package-lock.json").read_text())
    packages = {name: one for name, one in lock["packages"].items() if name}
    assert all("integrity" in one and "resolved" not in one for one in packages.values())
    wanted = json.loads((tools.HERE / "package.json").read_text())["devDependencies"]
    locked = {name: packages[f"node_modules/{name}"]["version"] for name in wanted}
    assert locked == wanted
