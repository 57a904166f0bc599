"""The documentation site: its pages and their navigation, as Sphinx gets them."""

import os

import pytest

from runner.checkout import ROOT
from tools.docs.pages import pages
from tools.docs.site import build, lay_out


def test_it_has_every_page_with_what_they_link_to(tmp_path):
    source = lay_out(tmp_path)
    laid = {path.relative_to(source) for path in source.rglob("*.md")}
    assert laid == {page.relative_to(ROOT) for page in pages()}
    assert (source / "docs" / "img" / "post.svg").is_file()
    assert (source / "extra" / "docs" / "img" / "home-dark-1280.png").is_file()  # named by HTML


def test_the_first_page_has_the_navigation_and_the_index_has_the_decisions(tmp_path):
    source = lay_out(tmp_path)
    first = (source / "docs" / "README.md").read_text()
    assert ":caption: How-to guides\n\nwriting\nmessages\n" in first
    assert "\n../README\ntour\n" in first
    index = (source / "docs" / "decisions" / "README.md").read_text()
    assert "\n0185-a-site-of-the-documentation\n" in index


def test_what_is_right_is_not_written_again_and_what_is_gone_goes(tmp_path):
    source = lay_out(tmp_path)
    kept, changed = source / "docs" / "tour.md", source / "docs" / "bot.md"
    os.utime(kept, (1, 1))
    changed.write_text("# Other\n")
    (source / "docs" / "gone.md").write_text("# Gone\n")
    lay_out(source)
    assert kept.stat().st_mtime == 1
    assert changed.read_text() == (ROOT / "docs" / "bot.md").read_text()
    assert not (source / "docs" / "gone.md").exists()


@pytest.mark.long
@pytest.mark.parametrize(
    ("link", "result"), [("other.md", True), ("gone.md", False), ("other.md#gone", False)]
)
def test_a_link_to_nothing_stops_a_strict_build(tmp_path, link, result):
    source = tmp_path / "source"
    (source / "docs").mkdir(parents=True)
    (source / "extra").mkdir()
    (source / "docs" / "README.md").write_text(
        f"# First\n\n[a]({link})\n\n```{{toctree}}\nother\n```\n"
    )
    (source / "docs" / "other.md").write_text("# Other\n")
    assert build(source, tmp_path / "site", is_strict=True) is result
