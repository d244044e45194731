"""Our JavaScript: small, typed by JSDoc, linted. Needs npm, no browser."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.browser import tools

SCRIPTS = sorted((tools.ROOT / "static" / "js").glob("*.js"))


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=110)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_it_stays_under_sixteen_kilobytes_in_all() -> None:
    assert sum(script.stat().st_size for script in SCRIPTS) < 16 * 1024


def test_its_types_hold() -> None:
    compiler = tools.node_module("typescript/bin/tsc")
    options = ["--noEmit", "--allowJs", "--checkJs", "--strict", "--noUnusedLocals"]
    modern = ["--target", "es2022", "--module", "es2022", "--moduleDetection", "force"]
    node = shutil.which("node") or "node"
    assert run(node, compiler, *options, *modern, *SCRIPTS, cwd=tools.FOLDER) == ""


def test_the_linter_finds_nothing() -> None:
    linter = tools.node_module("eslint/bin/eslint.js")
    # Beside the packages, where its configuration finds them, and the scripts with it.
    shutil.copy(tools.HERE / "eslint.config.js", tools.FOLDER)
    copies = tools.FOLDER / "js"
    shutil.rmtree(copies, ignore_errors=True)
    shutil.copytree(SCRIPTS[0].parent, copies)
    node = shutil.which("node") or "node"
    assert run(node, linter, "--max-warnings=0", "js", cwd=tools.FOLDER) == ""
