"""The documentation site: all pages, with the navigation of docs/README.md, made by Sphinx."""

import subprocess
from collections.abc import Iterator
from os.path import relpath
from pathlib import Path

from runner import testing
from runner.checkout import ROOT
from tools.docs.pages import INDEX, links_of, navigation, pages

DECISIONS = ROOT / "docs" / "decisions"
EXTRA = Path("extra")  # served as it is
PICTURES = ("docs/img", "docs/bench")  # also named by HTML in pages, which Sphinx does not follow
# The start page of the website redirects to docs/README.md.
HOME = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=docs/README.html">
<title>feedsite</title>
"""


def lay_out(directory: Path) -> Path:
    """Fill a directory with exactly the pages, their navigation and the files they link to. Returns the directory.

    Files that are right already are not written again: Sphinx reads only those that are newer than its last build.
    """
    files = _files()
    for name, content in files.items():
        place = directory / name
        if not place.exists() or place.read_bytes() != content:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    for place in directory.rglob("*"):
        if place.is_file() and place.relative_to(directory) not in files:
            place.unlink()
    return directory


def _files() -> dict[Path, bytes]:
    """The content of each file that Sphinx gets, by its path."""
    files = {EXTRA / "index.html": HOME.encode()}
    for page in pages():
        text = page.read_text() + "".join(_navigation(page))
        files[page.relative_to(ROOT)] = text.encode()
        for link in links_of(page):
            if link.path.is_file() and link.path.suffix != ".md":
                files[link.path.relative_to(ROOT)] = link.path.read_bytes()
    for folder in PICTURES:
        for picture in (ROOT / folder).glob("*.*g"):  # .png and .svg
            files[EXTRA / picture.relative_to(ROOT)] = picture.read_bytes()
    return files


def build(source: Path, target: Path, *, is_strict: bool) -> bool:
    """Make the site of a directory with pages. False after an error; with `is_strict` also after a warning."""
    options = ["-q", "-j", "auto", "-b", "html", "-c", str(ROOT / "tools" / "docs")]
    strictly = ["--fail-on-warning"] if is_strict else []
    pictures = ["-D", f"html_extra_path={source / EXTRA}"]
    command = [*testing.module("sphinx"), *options, *strictly, *pictures, str(source), str(target)]
    done = subprocess.run(command, env=testing.environment(), check=False)  # noqa: S603 -- a fixed command
    return done.returncode == 0


def _navigation(page: Path) -> Iterator[str]:
    """The parts of the site below its first page, and the decisions below their index."""
    if page == INDEX:
        for title, paths in navigation().items():
            yield _toctree(page, paths, title)
    if page == DECISIONS / "README.md":
        yield _toctree(page, sorted(DECISIONS.glob("0*.md")))


def _toctree(page: Path, paths: list[Path], caption: str = "") -> str:
    names = "\n".join(relpath(path, page.parent).removesuffix(".md") for path in paths)
    title = f":caption: {caption}\n" if caption else ""
    return f"\n```{{toctree}}\n:hidden:\n{title}\n{names}\n```\n"
