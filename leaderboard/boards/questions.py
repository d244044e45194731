"""Several questions to Redis in the round trips of the longest one."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from config.redis.calls import Batch, Steps


def together(questions: Sequence[Generator[Any, Any, Any]]) -> Steps[list[Any]]:
    """Ask several questions at once: the first steps of all in one round trip, and so on."""
    results: list[Any] = [None] * len(questions)
    replies: list[Any] = [None] * len(questions)
    waiting = list(range(len(questions)))
    while waiting:
        asked: list[tuple[int, int | None]] = []  # the question, and how many steps of a batch
        steps: list[Any] = []
        for number in waiting:
            try:
                step = questions[number].send(replies[number])
            except StopIteration as end:
                results[number] = end.value
                continue
            parts = step.steps if isinstance(step, Batch) else [step]
            asked.append((number, len(parts) if isinstance(step, Batch) else None))
            steps += parts
        if not steps:
            break
        answers = iter((yield Batch(steps)))
        for number, length in asked:
            replies[number] = (
                next(answers) if length is None else [next(answers) for _ in range(length)]
            )
        waiting = [number for number, _ in asked]
    return results
