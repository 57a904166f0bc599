"""Plots as SVG, light and dark: bars, one group per comparison, each with its own scale; and growth curves."""

import math
from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from tools.bench.measure import Spread

Points = Sequence[tuple[float, float]]

WIDTH, NAMES, BARS = 860, 300, 420
PLOT, PLOT_HEIGHT, LEFT, LINE = 430, 210, 56, 16  # a plot of curves: two in a row
BAR, GAP, TITLE, MARGIN = 16, 4, 30, 16
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f }
.what { font-weight: 600; font-size: 13px }
.ours { fill: #0f766e } .other { fill: #a8b3bd } .spread { stroke: #24292f; stroke-width: 1; opacity: .6 }
.page { fill: #ffffff } .grid { stroke: #d0d7de; stroke-width: 1 }
.curve { fill: none; stroke-width: 2 } 
.curve0 { stroke: #0f766e } .curve1 { stroke: #b45309 } .curve2 { stroke: #6d5bd0 }
.dot { stroke: none } .dot0 { fill: #0f766e } .dot1 { fill: #b45309 } .dot2 { fill: #6d5bd0 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .ours { fill: #2dd4bf } .other { fill: #57636f } .spread { stroke: #e6edf3 }
  .page { fill: #0d1117 } .grid { stroke: #30363d }
  .curve0 { stroke: #2dd4bf } .curve1 { stroke: #f0a35e } .curve2 { stroke: #a99cf5 }
  .dot0 { fill: #2dd4bf } .dot1 { fill: #f0a35e } .dot2 { fill: #a99cf5 }
}
"""


def draw(groups: Sequence[tuple[str, Spread, Mapping[str, Spread]]]) -> str:
    """The plot of (title, ours, others by name) groups."""
    parts: list[str] = []
    top = MARGIN
    for title, ours, others in groups:
        bars = [("feedsite", ours, "ours"), *((name, one, "other") for name, one in others.items())]
        parts.append(f'<text class="what" x="{MARGIN}" y="{top + 16}">{escape(title)}</text>')
        top += TITLE
        scale = BARS / (max(spread.high for _name, spread, _kind in bars) or 1)
        for name, spread, kind in bars:
            parts.append(_bar(name, spread, kind, top, scale))
            top += BAR + GAP
        top += MARGIN
    return _picture(parts, top)


def draw_growth(plots: Sequence[tuple[str, str, Mapping[str, Points]]]) -> str:
    """Plots of (title, axis label, curves by name), two in a row; both axes are logarithmic."""
    parts: list[str] = []
    maximum = max(len(curves) for _title, _axis, curves in plots)
    height = TITLE + PLOT_HEIGHT + 3 * LINE + maximum * LINE
    for number, (title, axis, curves) in enumerate(plots):
        left, top = number % 2 * PLOT, number // 2 * height
        inner = "\n".join(_curves(title, axis, curves))
        parts.append(f'<g transform="translate({left} {top})">{inner}</g>')
    return _picture(parts, height * ((len(plots) + 1) // 2) + MARGIN)


def _curves(title: str, axis: str, curves: Mapping[str, Points]) -> Iterator[str]:
    points = [point for curve in curves.values() for point in curve]
    (first, last), (low, high) = (_decades([one[at] for one in points]) for at in (0, 1))
    right, bottom = PLOT - MARGIN, TITLE + PLOT_HEIGHT

    def across(value: float) -> float:
        return LEFT + (math.log10(value) - first) / (last - first) * (right - LEFT)

    def up(value: float) -> float:
        return bottom - (math.log10(value) - low) / (high - low) * (PLOT_HEIGHT - LINE)

    yield f'<text class="what" x="{MARGIN}" y="{MARGIN + 4}">{escape(title)}</text>'
    for power in range(low, high + 1):
        y = up(10.0**power)
        yield f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:,g}</text>'
    for size in sorted({point[0] for point in points}):
        yield f'<text x="{across(size):.1f}" y="{bottom + LINE}" text-anchor="middle">{size:,.0f}</text>'
    yield f'<text x="{(LEFT + right) / 2}" y="{bottom + 2 * LINE}" text-anchor="middle">{escape(axis)}</text>'
    for number, (name, curve) in enumerate(curves.items()):
        places = [(across(x), up(y)) for x, y in curve]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline class="curve curve{number}" points="{path}"/>'
        yield from (
            f'<circle class="dot dot{number}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places
        )
        y = bottom + (3 + number) * LINE
        yield f'<circle class="dot dot{number}" cx="{LEFT + 4}" cy="{y - 4}" r="4"/>'
        values = ", ".join(_label(value) for _size, value in curve)
        yield f'<text x="{LEFT + 14}" y="{y}">{escape(name)}: {values}</text>'


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Exponents of the powers of ten around values above 0, at least one apart."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _picture(parts: Sequence[str], height: float) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
    page = f'<rect class="page" width="{WIDTH}" height="{height}"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", page, *parts, "</svg>", ""])


def _label(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _bar(name: str, spread: Spread, kind: str, top: float, scale: float) -> str:
    middle = top + BAR / 2
    length = max(spread.median * scale, 1)
    return (
        f'<text x="{NAMES - 8}" y="{top + 12}" text-anchor="end">{escape(name)}</text>'
        f'<rect class="{kind}" x="{NAMES}" y="{top}" width="{length:.1f}" height="{BAR}" rx="2"/>'
        f'<line class="spread" x1="{NAMES + spread.low * scale:.1f}" x2="{NAMES + spread.high * scale:.1f}"'
        f' y1="{middle}" y2="{middle}"/>'
        f'<text x="{NAMES + max(length, spread.high * scale) + 8:.1f}" y="{top + 12}">{_label(spread.median)}</text>'
    )
