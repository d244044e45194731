"""Other people's libraries, measured beside ours.

Their own versions of redis-py differ from ours, so each kind runs in an environment of its own
(`var/bench-venv-…`, made on first use), by a script in `bench/peers`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = Path(__file__).parent / "peers"

Ratios = dict[str, dict[str, float]]


def measured(kind: str, port: int, rounds: int) -> Ratios:
    """By library and by what was done, how fast beside a bare command on the library's client."""
    done = subprocess.run(
        [_python(kind), str(PEERS / f"{kind}.py"), str(port), str(rounds)],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found: Ratios = json.loads(done.stdout)
    return found


def _python(kind: str) -> str:
    directory = ROOT / "var" / f"bench-venv-{kind.replace('_', '-')}"
    python = directory / "bin" / "python"
    requirements = PEERS / f"{kind}.txt"
    wanted = requirements.read_text()
    stamp = directory / "installed.txt"
    if not stamp.is_file() or stamp.read_text() != wanted:
        print("Installing the other libraries (once) …", file=sys.stderr)
        venv.create(directory, with_pip=True, clear=True)
        _quietly([str(python), "-m", "pip", "install", "-r", str(requirements)])
        stamp.write_text(wanted)
    return str(python)


def _quietly(command: list[str]) -> None:
    """What pip says about this machine is no part of a report; it is shown only when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        done.check_returncode()
