"""A letter under construction."""

from apps.demo.scenes.canvas import Canvas, Colour, colour, mix
from apps.demo.scenes.palette import CREAM, INK, VERMILION


def letter(canvas: Canvas) -> None:
    """A lowercase a under construction: ink, guide lines, and the points that hold the curves."""
    w, h = canvas.w, canvas.h
    canvas.sky(colour("#F8F1E2"), colour("#F1E6D0"))
    canvas.glow(w * 0.2, h * 0.15, 420, colour("#FFFBF0"), 0.9)
    guide, faint = VERMILION, mix(colour("#F4EAD6"), colour("#B9A98C"), 0.42)
    for step in range(1, int(w / 45) + 1):
        canvas.line([(step * 45, 0), (step * 45, h)], 0.8, faint)
        canvas.line([(0, step * 45), (w, step * 45)], 0.8, faint)
    radius, pen = h * 0.25, h * 0.098
    x, y = w * 0.46, h * 0.53
    stem, top, base = x + radius - pen, y - radius, y + radius
    canvas.ring(x, y, radius, pen, INK)
    canvas.box(stem, top, pen, radius * 2, INK)
    for height in (top - h * 0.15, top, base, base + h * 0.12):
        canvas.line([(w * 0.06, height), (w * 0.94, height)], 1.6, guide, 0.75)
    canvas.ring(x, y, radius + 1, 1.8, guide)
    canvas.ring(x, y, radius - pen, 1.8, guide)
    canvas.ring(x, y, radius * 1.62, 1.1, mix(guide, CREAM, 0.45))
    for upright in (x, stem, stem + pen):
        canvas.line([(upright, h * 0.13), (upright, h * 0.91)], 1.3, guide, 0.6)
    _handles(canvas, x, y, radius, guide)


def _handles(canvas: Canvas, x: float, y: float, radius: float, guide: Colour) -> None:
    reach = radius * 0.5523  # where the handles of a circle's curves end
    for dx, dy, is_level in ((0, -1, True), (0, 1, True), (-1, 0, False)):
        px, py = x + dx * radius, y + dy * radius
        off = (reach, 0.0) if is_level else (0.0, reach)
        ends = [(px - off[0], py - off[1]), (px + off[0], py + off[1])]
        canvas.line(ends, 1.8, guide)
        for at in ends:
            canvas.disc(*at, 5.6, guide)
            canvas.disc(*at, 3.2, CREAM)
        canvas.box(px - 7, py - 7, 14, 14, guide)
        canvas.box(px - 4.4, py - 4.4, 8.8, 8.8, CREAM)
    for px, py in ((x + radius, y - radius), (x + radius, y + radius)):
        canvas.box(px - 7, py - 7, 14, 14, guide)
        canvas.box(px - 4.4, py - 4.4, 8.8, 8.8, CREAM)
