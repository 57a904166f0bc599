"""Colours that the scenes share."""

from apps.demo.scenes.canvas import colour

INK = (31, 41, 38)


CREAM = (246, 238, 221)


VERMILION = (217, 72, 43)


NIGHT = [colour(code) for code in ("#131E33", "#1F3350", "#3A5270")]


LAMP = colour("#F8D288")


WOOD = colour("#B07B4F")


CLAY = colour("#BC6844")


GREENS = (colour("#5F8250"), colour("#7A9A5A"), colour("#4A6B48"))
