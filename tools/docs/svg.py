"""A canvas for the drawings of the documentation: boxes, arrows and texts as SVG, light and dark."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

LINE = 18  # the height of a line of text
PADDING = 10
CHARACTER = 8.6  # the width of a wide bold letter, by which boxes are measured
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.bold { font-weight: 600 } .small { font-size: 11.5px; fill: #57606a }
.page { fill: #ffffff } .box { fill: #f6f8fa; stroke: #d0d7de } .ours { fill: #d8f3ee; stroke: #0f766e }
.other { fill: #fff3df; stroke: #b45309 } .band { fill: none; stroke: #d0d7de; stroke-dasharray: 4 3 }
.line { stroke: #57606a; stroke-width: 1.5; fill: none } .head { fill: #57606a }
.yes { fill: #0f766e } .no { fill: none; stroke: #8c959f; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9da7b3 } .page { fill: #0d1117 } .box { fill: #161b22; stroke: #30363d }
  .ours { fill: #0f3d39; stroke: #2dd4bf } .other { fill: #43300f; stroke: #f0a35e } .band { stroke: #30363d }
  .line { stroke: #9da7b3 } .head { fill: #9da7b3 } .yes { fill: #2dd4bf } .no { stroke: #6e7681 }
}
"""


class Canvas:
    """A drawing. Coordinates are pixels from the upper left corner; the height grows with what is drawn."""

    def __init__(self, title: str, description: str, *, width: int = 860) -> None:
        self.title, self.description, self.width = title, description, width
        self.bottom = 0.0
        self._parts: list[str] = []

    def text(self, x: float, y: float, text: str, kind: str = "", *, anchor: str = "start") -> None:
        """A line of text; `y` is its base line."""
        self._add(
            f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>',
            y,
        )

    def box(
        self, x: float, y: float, width: float, lines: Sequence[str], kind: str = "box"
    ) -> float:
        """A box with a title and smaller lines below it; returns its lower edge."""
        height = len(lines) * LINE + PADDING
        self.rectangle(x, y, width, height, kind)
        for number, line in enumerate(lines):
            style = "small" if number else "bold"
            self.text(x + PADDING, y + PADDING / 2 + LINE * number + 13, line, style)
        return y + height

    def rectangle(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        size = f'width="{width:g}" height="{height:g}"'
        self._add(f'<rect class="{kind}" x="{x:g}" y="{y:g}" {size} rx="5"/>', y + height)

    def dot(self, x: float, y: float, *, is_full: bool) -> None:
        self._add(f'<circle class="{"yes" if is_full else "no"}" cx="{x:g}" cy="{y:g}" r="6"/>', y)

    def arrow(self, *points: tuple[float, float], both: bool = False) -> None:
        """A line through points, with a head at its end, or at both ends."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        start = ' marker-start="url(#head)"' if both else ""
        self._add(
            f'<polyline class="line" points="{path}" marker-end="url(#head)"{start}/>',
            max(y for _x, y in points),
        )

    def svg(self) -> str:
        """The whole drawing."""
        height = self.bottom + 16
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{height:g}"'
            f' viewBox="0 0 {self.width} {height:g}" role="img" aria-labelledby="title description">\n'
            f'<title id="title">{escape(self.title)}</title>\n'
            f'<desc id="description">{escape(self.description)}</desc>\n'
            f"<style>{STYLE}</style>\n"
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
            ' orient="auto-start-reverse"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>\n'
            f'<rect class="page" width="{self.width}" height="{height:g}"/>\n'
            + "\n".join(self._parts)
            + "\n</svg>\n"
        )

    def _add(self, part: str, bottom: float) -> None:
        self._parts.append(part)
        self.bottom = max(self.bottom, bottom)


def width_of(text: str) -> float:
    """The width of a box around a line of text."""
    return len(text) * CHARACTER + 2 * PADDING
