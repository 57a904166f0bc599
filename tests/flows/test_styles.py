"""The style sheet and the script: enough contrast, no physical directions, small; templates without inline code."""

import gzip
import re
from pathlib import Path

import brotli
import django_htmx
import pytest

from feedsite.files.staticfiles import minify, minify_script
from tools.vitals.budgets import STYLE_KB

ROOT = Path(__file__).parents[2]
CSS = (ROOT / "static/css/app.css").read_text()
TOKENS = {
    name: (light, dark)
    for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", CSS)
}
PAIRS = [
    ("text", "bg", 7), ("text", "surface", 7), ("text-2", "surface", 7), ("text-2", "bg", 4.5),
    ("text-2", "accent-soft", 4.5), ("text-3", "surface", 4.5), ("text-3", "surface-2", 4.5), ("text-3", "bg", 4.5),
    ("text-3", "hover", 4.5), ("accent", "surface", 4.5), ("accent", "bg", 4.5), ("accent", "accent-soft", 4.5),
    ("on-accent", "accent", 4.5), ("on-accent", "accent-hover", 4.5), ("on-accent-soft", "accent-soft", 4.5),
    ("link", "surface", 4.5), ("link", "surface-2", 4.5), ("link", "bg", 4.5), ("link", "hover", 4.5),
    ("like", "surface", 4.5), ("like", "hover", 4.5), ("boost", "surface", 4.5), ("boost", "hover", 4.5),
    ("mark", "surface", 4.5), ("mark", "hover", 4.5), ("danger", "surface", 4.5), ("warn-fg", "warn-bg", 4.5),
    ("line-strong", "surface", 3), ("line-strong", "bg", 3), ("focus", "surface", 3), ("focus", "bg", 3),
]  # fmt: skip
KILOBYTE = 1024


def _luminance(colour):
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_contrast(theme, subtests):
    for front, back, minimum in PAIRS:
        with subtests.test(front=front, back=back):
            shades = (_luminance(TOKENS[front][theme]), _luminance(TOKENS[back][theme]))
            assert (max(shades) + 0.05) / (min(shades) + 0.05) >= minimum


@pytest.mark.parametrize(
    "sheet", sorted((ROOT / "static/css").glob("*.css")), ids=lambda path: path.name
)
def test_directions_are_logical(sheet):
    """So that pages are right in languages written from right to left."""
    physical = r"(?<![\w-])((margin|padding|border)-)?(left|right|top|bottom)\s*:|(?<![\w-])(width|height):"
    text = re.sub(r"\(m(ax|in)-width:", "(", sheet.read_text())
    assert not re.findall(physical, text)
    assert not re.findall(r"(?<![\w-])(text-align|float|clear):\s*(left|right)", text)
    assert not re.findall(r"(?<![\w-])inset:(?=(?:\s+\S+){4};)", text)


@pytest.mark.parametrize(
    "name",
    [
        "app.css",
        "composer.css",
        "figures.css",
        "figures.css journey.css",
        "notifications.css",
        "profile.css",
        "settings.css",
    ],
)
def test_the_style_sheets_of_a_page_are_small(name):
    """The site's sheet, and those of a page beside it, each compressed by itself as they are served."""
    names = {"app.css", *name.split()}
    sheets = {(ROOT / "static/css" / sheet).read_text() for sheet in names}
    assert sum(len(_compressed(minify(text))) for text in sheets) < STYLE_KB * KILOBYTE


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "static/js").glob("*.js")))
def test_scripts_are_small(name):
    assert _size(ROOT / "static/js" / name) < 8 * KILOBYTE


@pytest.mark.slow
def test_all_scripts_together_are_small():
    """Those of every page, the library's too, as production sends them. The service worker belongs to no page, and
    `staff.js` to those of staff alone.
    """
    library = Path(django_htmx.__file__).parent / "static/django_htmx/htmx-2.min.js"
    own = [
        minify_script(path.read_text())
        for path in ROOT.glob("static/js/*.js")
        if path.name not in {"worker.js", "staff.js"}
    ]
    sent = [brotli.compress(text.encode()) for text in (*own, library.read_text())]
    assert sum(map(len, sent)) < 40 * KILOBYTE


def _size(script):
    return len(_compressed(minify_script(script.read_text())))


def _compressed(text):
    return gzip.compress(text.encode(), 9)


def test_templates_have_no_inline_code():
    code = re.compile(r"\sstyle=|\son[a-z]+=|<style|<script(?![^>]*\ssrc=)|hx-on")
    templates = [path for path in ROOT.glob("templates/**/*.html") if "admin" not in path.parts]
    found = {str(path): code.findall(path.read_text()) for path in templates}
    assert {path: codes for path, codes in found.items() if codes} == {}


def test_every_icon_that_is_used_is_in_the_sprite():
    sprite = set(re.findall(r'<symbol id="([\w-]+)"', (ROOT / "static/icons.svg").read_text()))
    templates = "".join(path.read_text() for path in ROOT.glob("templates/**/*.html"))
    used = set(re.findall(r"{% icon '([\w-]+)'", templates)) | set(
        re.findall(r'symbol="([\w-]+)"', templates)
    )
    assert used <= sprite
    assert sprite - used <= {"heart", "bookmark", "repeat-2"}  # these are used by name
