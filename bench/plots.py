"""Plots of measurements as SVG files: lines over a logarithmic axis, readable in light and dark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 130, 40, 40
COLOURS = ("#2f6fde", "#d9622b", "#2a9d63", "#8e4ec6", "#b8860b")

STYLE = (
    "text{fill:#222;font:12px system-ui,sans-serif}path,line{fill:none}.grid{stroke:#9994}"
    "@media (prefers-color-scheme:dark){text{fill:#ddd}}"
)

Line = Sequence[tuple[float, float]]


def save_lines(path: Path, title: str, x_name: str, y_name: str, lines: Mapping[str, Line]) -> None:
    """Write a plot with one line per name; x is logarithmic, y begins at zero."""
    points = [point for line in lines.values() for point in line]
    x_low, x_high = (math.log10(pick(x for x, _ in points)) for pick in (min, max))
    y_high = max(y for _, y in points) * 1.1 or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - x_low) / ((x_high - x_low) or 1)
        return (
            round(LEFT + across * (WIDTH - LEFT - RIGHT), 1),
            round(HEIGHT - BOTTOM - y / y_high * (HEIGHT - TOP - BOTTOM), 1),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<text x="{LEFT}" y="20" font-size="14" font-weight="600">{escape(title)}</text>',
        f'<text x="{LEFT}" y="{TOP - 6}" text-anchor="end">{escape(y_name)}</text>',
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end">{escape(x_name)}</text>',
    ]
    for step in range(5):
        value = y_high * step / 4
        _, y = place(10**x_low, value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{value:,.4g}</text>')
    for x in sorted({x for x, _ in points}):
        across, base = place(x, 0)
        parts.append(f'<text x="{across}" y="{base + 16}" text-anchor="middle">{_short(x)}</text>')
    for (name, line), colour in zip(lines.items(), COLOURS, strict=False):
        places = [place(x, y) for x, y in line]
        route = " L".join(f"{x} {y}" for x, y in places)
        parts.append(f'<path d="M{route}" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places]
        x, y = places[-1]
        parts.append(f'<text x="{x + 8}" y="{y + 4}" style="fill:{colour}">{escape(name)}</text>')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*parts, "</svg>", ""]))


def _short(value: float) -> str:
    for limit, unit in ((1e6, " M"), (1e3, " k")):
        if value >= limit:
            return f"{value / limit:g}{unit}"
    return f"{value:g}"
