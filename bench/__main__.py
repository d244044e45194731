"""`make bench` runs every measurement, `make bench ARGS="engine"` those named."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from bench.harness import Report


def main(names: list[str]) -> int:
    files = Path(__file__).parent.glob("*.py")
    known = sorted(file.stem for file in files if "\ndef run(report" in file.read_text())
    unknown = sorted(set(names) - set(known))
    if unknown:
        print(f"Unknown: {', '.join(unknown)}. There are: {', '.join(known)}.", file=sys.stderr)
        return 2
    report = Report()
    for name in names or known:
        report.heading(name, f'make bench ARGS="{name}"')
        importlib.import_module(f"bench.{name}").run(report)
    report.summary()
    return 0 if report.all_reached else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
