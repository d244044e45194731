"""What the browser tests take from npm, installed once under var/."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FOLDER = ROOT / "var" / "node"


def node_module(name: str) -> Path:
    """A file of a pinned package; a skip in one line without npm, a failure with CI=true."""
    npm = shutil.which("npm")
    if npm is None:
        if os.environ.get("CI") == "true":
            pytest.fail("No npm found; with CI=true its checks must run.")
        pytest.skip("No npm found: checks with packages from npm are skipped.")
    wanted = (HERE / "package.json").read_text()
    installed = FOLDER / "package.json"
    found = FOLDER / "node_modules" / name
    if not found.exists() or not installed.exists() or installed.read_text() != wanted:
        FOLDER.mkdir(parents=True, exist_ok=True)
        installed.write_text(wanted)
        subprocess.run(
            [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--silent"],
            cwd=FOLDER,
            check=True,
            timeout=110,
        )
    return found
