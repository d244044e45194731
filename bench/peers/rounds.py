"""How a library is measured in an environment of its own: in turn with a bare command on its own
client, in short rounds. Prints, as JSON, how fast each thing is beside the bare command."""

from __future__ import annotations

import json
import statistics
import sys
import time

ROUND_SECONDS = 0.04


def seconds_per_call(call, count):
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def print_ratios(bare, libraries, rounds):
    """`libraries` has, by name, pairs of what is measured and the call that does it."""
    contestants = {("", "bare"): bare}
    for library, found in libraries.items():
        contestants |= {(library, name): call for name, call in found}
    counts = {}
    for name, call in contestants.items():
        call()
        fastest = min(seconds_per_call(call, 1) for _ in range(3))
        counts[name] = max(1, round(ROUND_SECONDS / fastest))
    seconds = {name: [] for name in contestants}
    names = list(contestants)
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            seconds[name].append(seconds_per_call(contestants[name], counts[name]))
    ratios = {library: {} for library in libraries}
    for (library, name), own in seconds.items():
        if library:
            pairs = zip(own, seconds["", "bare"], strict=True)
            ratios[library][name] = statistics.median(plain / each for each, plain in pairs)
    json.dump(ratios, sys.stdout)
