"""Plots drawn on the server as SVG: lines, bars, and a grid of shares.

Each is one `<svg role="img">` with a title and a description for screen readers, a `<title>` on
each mark as a tooltip, and classes instead of colours, which the style sheet sets for the light and
the dark theme (`.chart-…` in `components.css`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

WIDTH, HEIGHT = 560, 200
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 12, 26  # room for the labels
EDGE = 44  # nearer to the right, a label could run off the picture
SHADES = 10  # .chart-shade-0 … .chart-shade-9

Formatter = Callable[[float], str]

# Titles are found by id, and a page may hold several plots.
_numbers = count(1)


@dataclass(frozen=True)
class Point:
    """A point of a line; `label` is its tooltip."""

    x: float
    y: float
    label: str = ""


@dataclass(frozen=True)
class Bar:
    """A bar; `mark` highlights it."""

    value: float
    label: str = ""
    mark: bool = False


def compact_number(value: float) -> str:
    """1234567 → 1.2M, in the reader's locale."""
    units = ((1e9, 1e9, gettext("%sB")), (1e6, 1e6, gettext("%sM")), (1e4, 1e3, gettext("%sk")))
    for limit, size, unit in units:
        if abs(value) >= limit:
            scaled = round(value / size, 1)
            whole = scaled.is_integer() or abs(scaled) >= 100
            return unit % number_format(round(scaled) if whole else scaled)
    return number_format(int(value) if float(value).is_integer() else round(value, 2))


def nice_ticks(low: float, high: float, wanted: int = 4) -> list[float]:
    """A few round numbers that span from `low` to `high`; the first and last may lie outside."""
    if high <= low:
        high = low + 1
    raw = (high - low) / wanted
    power: float = 10 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(number * step, 10) for number in range(first, last + 1)]


@dataclass(frozen=True)
class _Scale:
    """From values to coordinates of the picture."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(self.start + share * (self.end - self.start), 2)


def line_chart(
    points: Sequence[Point],
    *,
    title: str,
    description: str,
    x_ticks: Iterable[tuple[float, str]] = (),
    from_zero: bool = True,
    best_on_top: bool = False,
    steps: bool = False,
    format_value: Formatter = compact_number,
) -> SafeString:
    """A line through the points, which are in the order of x.

    `best_on_top` turns the scale over, for ranks. `steps` holds each value until the next point,
    as a score does. Without points there is only the axis.
    """
    ticks = _ticks([point.y for point in points], from_zero=from_zero and not best_on_top)
    if best_on_top:  # there is no rank 0 and no rank 2½
        ticks = sorted({max(1, round(tick)) for tick in ticks})
    bottom = HEIGHT - BOTTOM
    ends = (TOP, bottom) if best_on_top else (bottom, TOP)
    up = _Scale(ticks[0], ticks[-1], *ends)
    first, last = (points[0].x, points[-1].x) if points else (0.0, 1.0)
    across = _Scale(first, last, LEFT, WIDTH - RIGHT)
    path = _path([(across(point.x), up(point.y)) for point in points], steps)
    body = [_y_axis(ticks, up, format_value), _x_labels(x_ticks, across, HEIGHT)]
    if len(points) > 1:
        area = f"{path}V{bottom}H{across(first)}Z"
        body.append(format_html('<path class="chart-area" d="{}"/>', area))
        body.append(format_html('<path class="chart-line" d="{}"/>', path))
    body.append(
        format_html_join(
            "",
            '<circle class="chart-dot" cx="{}" cy="{}" r="3"><title>{}</title></circle>',
            (
                (across(point.x), up(point.y), point.label or format_value(point.y))
                for point in points
            ),
        )
    )
    return _svg(body, title, description, WIDTH, HEIGHT)


def bar_chart(
    bars: Sequence[Bar],
    *,
    title: str,
    description: str,
    x_labels: Iterable[tuple[float, str]] = (),
    format_value: Formatter = compact_number,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> SafeString:
    """Bars from zero. `x_labels` go under the given numbers of bars: 0 is under the first, 0.5
    between the first and the second."""
    ticks = _ticks([bar.value for bar in bars], from_zero=True)
    bottom = height - BOTTOM
    up = _Scale(ticks[0], ticks[-1], bottom, TOP)
    step = (width - LEFT - RIGHT) / max(1, len(bars))
    gap = min(4.0, step * 0.2)
    across = _Scale(-0.5, max(1, len(bars)) - 0.5, LEFT, width - RIGHT)
    marks = format_html_join(
        "",
        '<rect class="chart-bar{}" x="{}" y="{}" width="{}" height="{}" rx="1">'
        "<title>{}</title></rect>",
        (
            (
                " chart-mine" if bar.mark else "",
                round(across(number) - (step - gap) / 2, 2),
                up(bar.value),
                round(step - gap, 2),
                # The smallest value that is not zero can still be seen.
                round(max(bottom - up(bar.value), 1.5 if bar.value else 0), 2),
                bar.label or format_value(bar.value),
            )
            for number, bar in enumerate(bars)
        ),
    )
    labels = _x_labels(x_labels, across, height, width)
    body = [_y_axis(ticks, up, format_value, width), labels, marks]
    return _svg(body, title, description, width, height)


def grid_chart(
    rows: Sequence[tuple[str, Sequence[float | None]]],
    columns: Sequence[str],
    *,
    title: str,
    description: str,
    format_value: Formatter = compact_number,
) -> SafeString:
    """A grid of shares from 0 to 1, darker when larger; None leaves a cell out."""
    label_width, cell_height, gap = 90, 28, 3
    width = (WIDTH - label_width) / max(1, len(columns))
    height = cell_height * (len(rows) + 1)
    parts = [
        format_html(
            '<text x="{}" y="18" text-anchor="middle">{}</text>',
            round(label_width + (number + 0.5) * width, 2),
            text,
        )
        for number, text in enumerate(columns)
    ]
    for line, (label, shares) in enumerate(rows, start=1):
        y = line * cell_height
        parts.append(format_html('<text x="0" y="{}">{}</text>', y + 18, label))
        for number, share in enumerate(shares):
            if share is not None:
                x, text = label_width + number * width, format_value(share)
                parts.append(_cell(x, y, width - gap, cell_height - gap, share, text))
    return _svg(parts, title, description, WIDTH, height)


def _cell(x: float, y: float, width: float, height: float, share: float, text: str) -> SafeString:
    shade = min(SHADES - 1, max(0, int(share * SHADES)))
    return format_html(
        '<rect class="chart-shade chart-shade-{}" x="{}" y="{}" width="{}" height="{}" rx="3"/>'
        '<text class="chart-on-shade-{}" x="{}" y="{}" text-anchor="middle">{}</text>',
        shade,
        round(x, 2),
        y,
        round(width, 2),
        height,
        shade,
        round(x + width / 2, 2),
        y + 17,
        text,
    )


def _ticks(values: Sequence[float], *, from_zero: bool) -> list[float]:
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if from_zero:
        low = min(0.0, low)
    if high <= low and low:  # a flat line runs through the middle
        low, high = low - abs(low) / 10, high + abs(low) / 10
    ticks = nice_ticks(low, high)
    if all(float(value).is_integer() for value in values):  # there is no half visitor
        ticks = [tick for tick in ticks if float(tick).is_integer()]
    return ticks


def _path(places: Sequence[tuple[float, float]], steps: bool) -> str:
    if not places:
        return ""
    (x, y), *rest = places
    path = f"M{x} {y}"
    for x, y in rest:
        path += f"H{x}V{y}" if steps else f"L{x} {y}"
    return path


def _y_axis(
    ticks: Sequence[float], up: _Scale, format_value: Formatter, width: int = WIDTH
) -> SafeString:
    return format_html_join(
        "",
        '<line class="chart-axis" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        '<text x="{}" y="{}" text-anchor="end">{}</text>',
        (
            (LEFT, width - RIGHT, up(tick), up(tick), LEFT - 8, up(tick) + 4, text)
            for tick, text in _without_repeats(ticks, format_value)
        ),
    )


def _without_repeats(
    ticks: Sequence[float], format_value: Formatter
) -> Iterable[tuple[float, str]]:
    """Ticks with their texts, empty where the text is that of the tick before."""
    before = ""
    for tick in ticks:
        text = format_value(tick)
        yield tick, "" if text == before else text
        before = text


def _x_labels(
    labels: Iterable[tuple[float, str]], across: _Scale, height: int, width: int = WIDTH
) -> SafeString:
    return format_html_join(
        "",
        '<text x="{}" y="{}" text-anchor="{}">{}</text>',
        (
            # The first and last stay inside the picture.
            (width - 2, height - 6, "end", text)
            if across(x) > width - EDGE
            else (max(across(x), LEFT), height - 6, "middle", text)
            for x, text in labels
        ),
    )


def _svg(
    body: Iterable[SafeString], title: str, description: str, width: int, height: int
) -> SafeString:
    number = next(_numbers)
    return format_html(
        '<svg class="chart" viewBox="0 0 {width} {height}" role="img"'
        ' aria-labelledby="chart-title-{number} chart-description-{number}">'
        '<title id="chart-title-{number}">{title}</title>'
        '<desc id="chart-description-{number}">{description}</desc>{body}</svg>',
        width=width,
        height=height,
        number=number,
        title=title,
        description=description,
        body=mark_safe("".join(body)),  # noqa: S308 each part was escaped where it was made
    )
