"""Draws how each algorithm lets a burst through: `python -m tests.ratelimit.pictures`.

The calls are decided by the same models that the scripts are tested against, so the pictures in
`docs/pictures/` are what Redis does.
"""

from __future__ import annotations

from pathlib import Path

from tests.ratelimit.models import MODELS

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
SECOND = 1_000_000
LIMIT, WINDOW = 10, 60  # ten a minute
LENGTH = 180  # seconds drawn
# One early call; a burst at the end of its minute and another at the start of the next; then
# a caller in a hurry, every four seconds.
CALLS = [0.0, *(50 + n * 0.7 for n in range(14)), *(61 + n * 0.7 for n in range(14))]
CALLS += [float(second) for second in range(76, LENGTH, 4)]

WIDTH, LEFT, RIGHT = 720, 44, 12
TICKS_TOP, TICKS_BOTTOM = 44, 68
PLOT_TOP, PLOT_BOTTOM = 92, 212
HEIGHT = 252
MOST = 22
INK, FAINT, GRID = "#1f2933", "#52606d", "#cbd2d9"
ALLOWED, DENIED, LINE = "#0b7285", "#c92a2a", "#5f3dc4"

CAPTIONS = {
    "fixed_window": "Fixed window: two windows' worth around the border",
    "sliding_log": "Sliding log: never more than ten in any minute",
    "sliding_counter": "Sliding counter: the minute before fades, as if it had come evenly",
    "token_bucket": "Token bucket of ten: a full bucket at once, then one each six seconds",
    "gcra": "GCRA, burst 3: three at once, then one each six seconds",
}


def x(second):
    return LEFT + (WIDTH - LEFT - RIGHT) * second / LENGTH


def y(number):
    return PLOT_BOTTOM - (PLOT_BOTTOM - PLOT_TOP) * number / MOST


def decided(algorithm):
    """Each call's second, and whether it was let through."""
    burst = 3 if algorithm == "gcra" else LIMIT
    model = MODELS[algorithm](LIMIT, WINDOW * SECOND, burst)
    result = []
    for second in CALLS:
        now = round(second * SECOND)
        fits, *_ = model.ask(now, 1)
        if fits:
            model.charge(now, 1)
        result.append((second, fits))
    return result


def last_minute(calls):
    """Steps of how many were let through within the minute before."""
    through = [second for second, fits in calls if fits]
    moments = sorted({0.0, float(LENGTH), *through, *(second + WINDOW for second in through)})
    for moment in moments:
        if moment <= LENGTH:
            yield moment, sum(moment - WINDOW < second <= moment for second in through)


def minutes(top, bottom):
    """A line and a label for each full minute."""
    for second in range(0, LENGTH + 1, WINDOW):
        anchor = "end" if second == LENGTH else "middle"
        yield (
            f'<path d="M{x(second):.1f} {top}V{bottom}" stroke="{GRID}"/>'
            f'<text x="{x(second):.1f}" y="{bottom + 16}" fill="{FAINT}" '
            f'text-anchor="{anchor}">{second // 60}:00</text>'
        )


def picture(algorithm):
    calls = decided(algorithm)
    through = sum(fits for _, fits in calls)
    steps = list(last_minute(calls))
    highest = max(number for _, number in steps)
    caption = CAPTIONS[algorithm]
    path = [f"M{x(0):.1f} {y(0):.1f}"]
    for moment, number in steps:
        path.append(f"H{x(moment):.1f}V{y(number):.1f}")
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-labelledby="t d" font-family="system-ui, sans-serif" font-size="12">'
        ),
        f'<title id="t">{caption}</title>',
        (
            f'<desc id="d">Of {len(calls)} calls {through} were let through; at most {highest} '
            "within one minute.</desc>"
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" fill="{INK}" font-size="15" font-weight="600">{caption}</text>',
    ]
    parts += minutes(TICKS_TOP - 6, PLOT_BOTTOM)
    for second, fits in calls:
        at = f"{x(second):.1f}"
        if fits:
            parts.append(
                f'<path d="M{at} {TICKS_TOP}V{TICKS_BOTTOM}" stroke="{ALLOWED}" stroke-width="3"/>'
            )
        else:
            parts.append(
                f'<circle cx="{at}" cy="{(TICKS_TOP + TICKS_BOTTOM) / 2:.0f}" r="2.5" '
                f'fill="none" stroke="{DENIED}"/>'
            )
    for number in (0, LIMIT, 2 * LIMIT):
        dash = ' stroke-dasharray="5 4"' if number == LIMIT else ""
        parts.append(
            f'<path d="M{LEFT} {y(number):.1f}H{WIDTH - RIGHT}" stroke="{GRID}"{dash}/>'
            f'<text x="{LEFT - 8}" y="{y(number) + 4:.1f}" fill="{FAINT}" '
            f'text-anchor="end">{number}</text>'
        )
    parts += [
        f'<path d="{"".join(path)}" fill="none" stroke="{LINE}" stroke-width="2"/>',
        (
            f'<text x="{LEFT}" y="{HEIGHT - 8}" fill="{FAINT}">bar: let through ({through})   '
            f"circle: denied ({len(calls) - through})   line: let through within the last minute, "
            f"at most {highest}</text>"
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


# Who comes when, and for how long; three may be inside at once.
VISITS = [(5, 60), (20, 30), (30, 100), (40, 25), (58, 40), (70, 20), (95, 60), (118, 40)]
PLACES = 3


def at_once():
    held, rows = [], []
    for come, stay in VISITS:
        held = [end for end in held if end > come]
        fits = len(held) < PLACES
        if fits:
            held.append(come + stay)
        rows.append((come, stay, fits))
    top, step = 44, 22
    height = top + step * len(rows) + 46
    caption = "At once, 3: a place is free when somebody leaves"
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            f'aria-labelledby="t" font-family="system-ui, sans-serif" font-size="12">'
        ),
        f'<title id="t">{caption}</title>',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" fill="{INK}" font-size="15" font-weight="600">{caption}</text>',
    ]
    bottom = top + step * len(rows)
    parts += minutes(top - 6, bottom)
    for number, (come, stay, fits) in enumerate(rows):
        middle = top + step * number + 8
        if fits:
            parts.append(
                f'<rect x="{x(come):.1f}" y="{middle - 6}" width="{x(stay) - LEFT:.1f}" '
                f'height="12" rx="3" fill="{ALLOWED}"/>'
            )
        else:
            parts.append(
                f'<circle cx="{x(come):.1f}" cy="{middle}" r="4" fill="none" stroke="{DENIED}"/>'
            )
    parts += [
        (
            f'<text x="{LEFT}" y="{height - 8}" fill="{FAINT}">bar: holds a lease   '
            "circle: denied, all three places were taken</text>"
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def pictures():
    drawn = {
        f"rate-limit-{algorithm.replace('_', '-')}.svg": picture(algorithm) for algorithm in MODELS
    }
    return drawn | {"rate-limit-at-once.svg": at_once()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / name).write_text(text)
