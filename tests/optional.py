"""Programs that some tests need and a machine may lack: left out, and said so in one line."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

LACKS = "not installed: "  # how the reason of such a skip begins; the Debian package follows

redis_server = shutil.which("redis-server")
npm = shutil.which("npm")
chromium = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


def need(found: Any, package: str) -> Any:
    """What was found; without it, the test is left out."""
    return found or pytest.skip(LACKS + package)


def need_in_ci(found: Any, package: str) -> Any:
    """The same, but with CI=true its absence is a failure."""
    if not found and os.environ.get("CI") == "true":
        pytest.fail(f"{LACKS}{package}; with CI=true these tests must run")
    return need(found, package)


def skip_without(found: Any, package: str) -> pytest.MarkDecorator:
    """The mark of tests that need a program."""
    return pytest.mark.skipif(not found, reason=LACKS + package)


def summary(reasons: Iterable[str]) -> str:
    """Which tests were left out, and how to include them; empty for none."""
    packages = Counter(reason.partition(LACKS)[2] for reason in reasons)
    if not packages:
        return ""
    counts = ", ".join(f"{count} for {package}" for package, count in sorted(packages.items()))
    return f"Tests left out: {counts}. On Debian: apt install {' '.join(sorted(packages))}"
