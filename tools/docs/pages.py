"""The pages of the documentation: all Markdown files for readers, and the links between them."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from runner.checkout import ROOT

INDEX = ROOT / "docs" / "README.md"
PATTERNS = ("*.md", "docs/**/*.md", "feedcache/README.md", "tools/bench/peers/*/README.md")
_FENCE = re.compile(r"^(```|~~~).*?^\1[`~]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`+[^`\n]*`+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^()\s]+)\)")
_HTML = re.compile(r'\b(?:src|srcset|href)="([^"\s]+)"')
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)
_ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)")


class Link(NamedTuple):
    """A link to a file of the repository, and perhaps to a heading in it. The path of a bare anchor is the page's."""

    page: Path
    path: Path
    anchor: str

    def __str__(self) -> str:
        anchor = f"#{self.anchor}" if self.anchor else ""
        return f"{self.page.relative_to(ROOT)}: {self.path}{anchor}"


def pages() -> list[Path]:
    """All pages, in the order of their paths."""
    return sorted({path for pattern in PATTERNS for path in ROOT.glob(pattern)})


def links_of(page: Path) -> Iterator[Link]:
    """The links of a page within the repository, except those in code."""
    text = _without_code(page.read_text())
    for target in (*_LINK.findall(text), *_HTML.findall(text)):
        if not _ELSEWHERE.match(target):
            path, _hash, anchor = target.partition("#")
            yield Link(page, (page.parent / path).resolve() if path else page, anchor)


def broken(link: Link) -> str:
    """The problem with a link; "" if there is none."""
    if not link.path.exists():
        return "there is no such file"
    if link.path.is_dir():
        return "a folder; name its README.md"
    if link.anchor and link.path.suffix == ".md" and link.anchor not in anchors_of(link.path):
        return "there is no such heading"
    return ""


@cache
def anchors_of(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as forges and the site make them."""
    found: list[str] = []
    for _level, heading in _HEADING.findall(_FENCE.sub("", page.read_text())):
        slug = _slug(heading)
        number = sum(re.fullmatch(rf"{re.escape(slug)}(-\d+)?", one) is not None for one in found)
        found.append(f"{slug}-{number}" if number else slug)
    return frozenset(found)


def _slug(heading: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    kept = re.sub(r"[^\w\- ]", "", text.lower())
    return kept.replace(" ", "-")


def _without_code(text: str) -> str:
    return _CODE.sub("", _FENCE.sub("", _COMMENT.sub("", text)))


def navigation() -> dict[str, list[Path]]:
    """The pages of each part of the site, in the order in which docs/README.md names them."""
    parts: dict[str, list[Path]] = {}
    for section in re.split(r"^## ", INDEX.read_text(), flags=re.MULTILINE)[1:]:
        title, _line, text = section.partition("\n")
        paths = [(INDEX.parent / one.partition("#")[0]).resolve() for one in _LINK.findall(text)]
        parts[title] = list(dict.fromkeys(paths))
    return parts
