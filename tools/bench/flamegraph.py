"""A flame graph as SVG: each box is a function, as wide as its share of the samples, below its caller.

In Brendan Gregg's style, but without a script: the title of a box gives its share.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape
from zlib import crc32

WIDTH, ROW, MARGIN, HEAD = 1200, 17, 10, 30
NARROWEST = 0.6  # narrower boxes are left out
LETTER = 6.2  # the average width of a letter
COLOURS = {"apps": 150, "feedcache": 185, "feedsite": 120, "django": 40, "rest_framework": 28}
OTHER_COLOUR = 265  # hues
STYLE = """
text { font: 11px ui-monospace, monospace; fill: #24292f; pointer-events: none }
.title { font: 600 13px system-ui, sans-serif }
.page { fill: #ffffff } rect { stroke: #ffffff; stroke-width: .5 }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117 } .title { fill: #e6edf3 } rect { stroke: #0d1117 }
}
"""


@dataclass
class _Box:
    """A function below its caller. `samples` includes those of the functions it calls."""

    name: str
    samples: int = 0
    below: dict[str, "_Box"] = field(default_factory=dict)


def draw(stacks: Mapping[tuple[str, ...], int], title: str) -> str:
    """The graph of stacks, outermost function first, with their numbers of samples."""
    root = _tree(stacks)
    scale = (WIDTH - 2 * MARGIN) / max(root.samples, 1)
    boxes = list(_boxes(root, MARGIN, 0, scale))
    height = HEAD + (max((depth for _box, _left, depth in boxes), default=0) + 1) * ROW + MARGIN
    parts = [
        _drawn(box, left, HEAD + depth * ROW, scale, root.samples) for box, left, depth in boxes
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
    page = f'<rect class="page" width="{WIDTH}" height="{height}"/>'
    heading = f'<text class="title" x="{MARGIN}" y="19">{escape(title)}</text>'
    return "\n".join([head, f"<style>{STYLE}</style>", page, heading, *parts, "</svg>", ""])


def _tree(stacks: Mapping[tuple[str, ...], int]) -> _Box:
    root = _Box("all")
    for stack, count in Counter(stacks).items():
        root.samples += count
        box = root
        for name in stack:
            box = box.below.setdefault(name, _Box(name))
            box.samples += count
    return root


def _boxes(box: _Box, left: float, depth: int, scale: float) -> Iterator[tuple[_Box, float, int]]:
    """The boxes below a box, from left to right, with their positions; the outermost functions are at the top."""
    for one in sorted(box.below.values(), key=lambda below: below.name):
        width = one.samples * scale
        if width >= NARROWEST:
            yield one, left, depth
            yield from _boxes(one, left, depth + 1, scale)
        left += width


def _drawn(box: _Box, left: float, top: float, scale: float, total: int) -> str:
    width = box.samples * scale
    letters = int((width - 4) / LETTER)
    function = box.name.partition(" ")[0]
    label = function if len(function) <= letters else function[: max(letters - 1, 0)] + "…"
    text = f'<text x="{left + 2:.1f}" y="{top + 12}">{escape(label)}</text>' if letters > 2 else ""
    share = box.samples / total
    return (
        f'<g><title>{escape(box.name)}: {share:.1%}</title><rect x="{left:.1f}" y="{top}" width="{width:.1f}"'
        f' height="{ROW - 1}" fill="{_colour(box.name)}"/>{text}</g>'
    )


def _colour(name: str) -> str:
    """The hue tells the site, its caches, the frameworks and the rest apart; the lightness depends on the name."""
    package = name.partition("(")[2].partition("/")[0]
    hue = COLOURS.get(package, OTHER_COLOUR)
    return f"hsl({hue} 55% {68 + crc32(name.encode()) % 14}%)"
