"""What a machine lacks is said in one line."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests import optional

ROOT = Path(__file__).resolve().parent.parent


def test_one_line_says_what_was_left_out_and_how_to_include_it():
    reasons = ["Skipped: not installed: npm", "Skipped: not installed: chromium"] * 2
    assert optional.summary([]) == ""
    assert optional.summary([*reasons, "not installed: npm"]) == (
        "Tests left out: 2 for chromium, 3 for npm. On Debian: apt install chromium npm"
    )


def test_a_run_without_the_programs_names_each_once(tmp_path):
    chosen = ["tests/browser/test_script.py", "tests/browser/test_limits.py"]
    chosen += ["tests/config/redis/test_functions.py", "-k", "browser or product_load"]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("CI", "PYTEST"))
    }
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", *chosen],
        cwd=ROOT,
        env=environment | {"PATH": str(tmp_path), "CHROMIUM": ""},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    named = re.findall(r".*(?:chromium|npm|redis-server).*", run.stdout)
    assert len(named) == 1
    assert named[0].endswith("apt install chromium npm redis-server")
    assert re.search(r"\d passed, .*\b4 left out", run.stdout)
