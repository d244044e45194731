"""What the browser tests take from npm, installed once under var/."""

from __future__ import annotations

import fcntl
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
    FOLDER.mkdir(parents=True, exist_ok=True)
    # One test process installs, the others wait; the stamp is written when all of it is there.
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted, stamp = (HERE / "package.json").read_text(), FOLDER / "installed.json"
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(FOLDER / "node_modules", ignore_errors=True)
            (FOLDER / "package.json").write_text(wanted)
            subprocess.run(
                [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--silent"],
                cwd=FOLDER,
                check=True,
                timeout=250,
            )
            stamp.write_text(wanted)
    return FOLDER / "node_modules" / name
