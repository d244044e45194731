"""What tests take from npm, installed once under var/: exactly what the lock file holds.

It names no registry, so that each machine asks its own. To change a version, edit package.json and
run `npm install --package-lock-only --omit-lockfile-registry-resolved` here.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

from tests import optional

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FOLDER = ROOT / "var" / "node"


def node_module(name: str) -> Path:
    """A file of a pinned package."""
    npm = optional.need_in_ci(optional.npm, "npm")
    FOLDER.mkdir(parents=True, exist_ok=True)
    # One test process installs, the others wait; the stamp is written when all of it is there.
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        files = [HERE / "package.json", HERE / "package-lock.json"]
        wanted, stamp = "".join(file.read_text() for file in files), FOLDER / "installed"
        if not stamp.exists() or stamp.read_text() != wanted:
            for file in files:
                shutil.copy(file, FOLDER)
            subprocess.run(
                [npm, "ci", "--no-audit", "--no-fund", "--silent"],
                cwd=FOLDER,
                check=True,
                timeout=250,
            )
            stamp.write_text(wanted)
    return FOLDER / "node_modules" / name
