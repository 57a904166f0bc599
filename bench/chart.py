"""A bar plot as SVG: one group per comparison, ours on top, each group to its own scale. Light and dark."""

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from bench.measure import Spread

WIDTH, NAMES, BARS = 860, 300, 420
BAR, GAP, TITLE, MARGIN = 16, 4, 30, 16
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f }
.what { font-weight: 600; font-size: 13px }
.ours { fill: #0f766e } .other { fill: #a8b3bd } .spread { stroke: #24292f; stroke-width: 1; opacity: .6 }
.page { fill: #ffffff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .ours { fill: #2dd4bf } .other { fill: #57636f } .spread { stroke: #e6edf3 }
  .page { fill: #0d1117 }
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
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img">'
    page = f'<rect class="page" width="{WIDTH}" height="{top}"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", page, *parts, "</svg>", ""])


def _bar(name: str, spread: Spread, kind: str, top: float, scale: float) -> str:
    middle = top + BAR / 2
    length = max(spread.median * scale, 1)
    label = f"{spread.median:,.0f}" if spread.median >= 100 else f"{spread.median:.3g}"
    return (
        f'<text x="{NAMES - 8}" y="{top + 12}" text-anchor="end">{escape(name)}</text>'
        f'<rect class="{kind}" x="{NAMES}" y="{top}" width="{length:.1f}" height="{BAR}" rx="2"/>'
        f'<line class="spread" x1="{NAMES + spread.low * scale:.1f}" x2="{NAMES + spread.high * scale:.1f}"'
        f' y1="{middle}" y2="{middle}"/>'
        f'<text x="{NAMES + max(length, spread.high * scale) + 8:.1f}" y="{top + 12}">{label}</text>'
    )
