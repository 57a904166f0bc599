"""Mountains: a river at sunrise below them, and ridges into the haze."""

from apps.demo.scenes.canvas import Canvas, Colour, colour, mix, smooth
from apps.demo.scenes.land import birds, glitter, hill, ridge, ripples
from apps.demo.scenes.palette import CREAM, INK, VERMILION
from apps.demo.scenes.plants import bare_tree, fir, reeds

# sky from top to horizon, far and near mountains, water from horizon to shore
DAYBREAK = [
    colour(code)
    for code in ("#F6C59A", "#F9DDBD", "#F6E7D2", "#93ADA7", "#4E756C", "#E9CDB0", "#54786F")
]


SUNDOWN = [
    colour(code)
    for code in ("#C9604A", "#EE9A68", "#FAD6A0", "#8C8FA6", "#46566F", "#F0B384", "#3F4E66")
]


PALE_DAY = [
    colour(code)
    for code in ("#E3E4DA", "#F1E9D8", "#F7EFE0", "#A9B7B1", "#5D7A74", "#E4DFCF", "#6C867F")
]


# top of the sky, haze, far ridges, near ridges
RIDGE_TONES = (
    ("#F3D9B1", "#F9ECD3", "#94ABA2", "#2E4A49"),
    ("#DDE3DC", "#F6EEDF", "#8CA6AB", "#2C474F"),
    ("#EBAA7B", "#FADFB9", "#8A9DB0", "#2B3A4E"),
)


def river_sunrise(canvas: Canvas) -> None:
    """The mock's picture: a red sun over layered mountains, a small sail on the river."""
    shades = SUNDOWN if canvas.seed % 10 == 2 else DAYBREAK
    shore, width = canvas.h * 0.7, canvas.w
    sun_x = width * canvas.rng.uniform(0.6, 0.74)
    canvas.sky(*shades[:3], bottom=shore)
    canvas.glow(sun_x, shore * 0.46, 330, colour("#FFE9C4"), 0.85)
    canvas.disc(sun_x, shore * 0.46, 52, VERMILION)
    birds(canvas, width * 0.2, shore * 0.24, 5, mix(shades[4], INK, 0.2))
    ridge(
        canvas,
        shore * 0.99,
        shore * 0.52,
        3,
        mix(shades[3], shades[2], 0.45),
        mix(shades[3], shades[2], 0.8),
    )
    ridge(canvas, shore, shore * 0.37, 4, shades[3], mix(shades[3], shades[2], 0.55))
    ridge(
        canvas,
        shore * 1.02,
        shore * 0.22,
        5,
        mix(shades[4], shades[3], 0.3),
        mix(shades[4], shades[3], 0.85),
    )
    canvas.sky(*shades[5:], top=shore, bottom=canvas.h + 1)
    glitter(canvas, sun_x, shore, canvas.h * 0.97, mix(VERMILION, shades[2], 0.35))
    ripples(canvas, shore + 8, canvas.h, CREAM)
    _sail(canvas, width * canvas.rng.uniform(0.42, 0.52), shore + (canvas.h - shore) * 0.42)
    _near_bank(canvas, mix(shades[6], INK, 0.45))


def _near_bank(canvas: Canvas, fill: Colour) -> None:
    h, w = canvas.h, canvas.w
    bank = smooth(
        [
            (-10, h * 0.83),
            (w * 0.1, h * 0.835),
            (w * 0.22, h * 0.88),
            (w * 0.36, h * 0.95),
            (w * 0.46, h + 4),
        ]
    )
    canvas.fade([*bank, (-10, h + 4)], fill, mix(fill, INK, 0.5))
    bare_tree(canvas, w * 0.075, h * 0.85, h * 0.34, mix(fill, INK, 0.55))
    bare_tree(canvas, w * 0.135, h * 0.87, h * 0.23, mix(fill, INK, 0.55))
    reeds(canvas, w * 0.25, h * 0.93, 9, mix(fill, INK, 0.4), h * 0.11)


def _sail(canvas: Canvas, x: float, y: float) -> None:
    for row in range(4):
        canvas.ellipse(x, y + 14 + row * 7, 44 - row * 7, 2.4, INK, 0.28 - row * 0.05)
    canvas.polygon(
        [
            *smooth([(x - 52, y - 6), (x - 30, y + 13), (x + 26, y + 14), (x + 56, y - 8)]),
            (x + 30, y - 2),
            (x - 30, y - 1),
        ],
        INK,
    )
    canvas.line([(x - 2, y - 2), (x - 2, y - 82)], 3, INK)
    canvas.polygon(
        [*smooth([(x + 3, y - 82), (x + 26, y - 44), (x + 40, y - 12)]), (x + 3, y - 8)], CREAM
    )
    canvas.polygon(
        [*smooth([(x - 7, y - 70), (x - 18, y - 40), (x - 30, y - 14)]), (x - 7, y - 12)],
        mix(CREAM, VERMILION, 0.16),
    )


def ridges(canvas: Canvas) -> None:
    """Ridge behind ridge into the haze, firs in front."""
    top, haze, far, ink = (colour(code) for code in RIDGE_TONES[canvas.seed % 3])
    canvas.sky(top, haze, haze)
    sun_x = canvas.w * canvas.rng.uniform(0.28, 0.7)
    canvas.glow(sun_x, canvas.h * 0.27, 260, colour("#FFF6E3"), 0.9)
    canvas.disc(sun_x, canvas.h * 0.27, 40, mix(VERMILION, haze, 0.35))
    layers = 7
    for layer in range(layers):
        share = layer / (layers - 1)
        y = canvas.h * (0.47 + 0.5 * share)
        crest = mix(mix(haze, far, 0.35 + 0.65 * min(1, share * 2)), ink, max(0, share * 1.6 - 0.6))
        ridge(
            canvas,
            y,
            canvas.h * (0.2 - 0.05 * share),
            3 + layer % 3,
            crest,
            mix(crest, haze, 0.62 - 0.4 * share),
        )
        if layer == 2:
            birds(
                canvas,
                canvas.w * canvas.rng.uniform(0.34, 0.56),
                canvas.h * 0.3,
                7,
                mix(ink, haze, 0.2),
                8,
            )
    _firs(canvas, mix(ink, INK, 0.6))


def _firs(canvas: Canvas, fill: Colour) -> None:
    line = hill(canvas, canvas.h * 0.95, canvas.h * 0.03, 0.8, fill, mix(fill, INK, 0.6))
    for _ in range(int(canvas.w / 26)):
        x, y = canvas.rng.choice(line)
        if abs(x - canvas.w * 0.56) > canvas.w * 0.16:
            fir(
                canvas,
                x,
                y + 8,
                canvas.rng.uniform(46, 132) * (0.5 + abs(x / canvas.w - 0.56)),
                fill,
            )
