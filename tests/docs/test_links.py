"""Every link of a page leads to a file of the repository, and to a heading that is there."""

import pytest

from runner.checkout import ROOT
from tools.docs.pages import INDEX, Link, anchors_of, broken, links_of, navigation, pages


def test_every_link_leads_somewhere():
    found = {str(link): broken(link) for page in pages() for link in links_of(page)}
    assert len(found) > 300
    assert {link: reason for link, reason in found.items() if reason} == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[a](there.md)", ""),
        ("[a](there.md#two-words)", ""),
        ("[a](#here)", ""),
        ("`[a](gone.md)` and [b](https://example.org/gone.md)", ""),
        ("[a](gone.md)", "there is no such file"),
        ('<img src="gone.png">', "there is no such file"),
        ("[a](there.md#three-words)", "there is no such heading"),
        ("[a](folder)", "a folder; name its README.md"),
    ],
)
def test_what_is_wrong_with_a_link_is_found(tmp_path, text, reason):
    (tmp_path / "there.md").write_text("# There\n\n```sh\n# three words\n```\n\n## Two `words`\n")
    (tmp_path / "folder").mkdir()
    page = tmp_path / "page.md"
    page.write_text(f"# Here\n\n{text}\n")
    anchors_of.cache_clear()
    assert [broken(link) for link in links_of(page)] == (
        [reason] if "gone.md)`" not in text else []
    )


def test_equal_headings_are_numbered(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Same\n\n## Same\n\n## [Another](x.md) one: two\n")
    assert anchors_of(page) == {"same", "same-1", "another-one-two"}


def test_the_navigation_has_four_parts_and_every_page():
    parts = navigation()
    assert list(parts) == ["Tutorials", "How-to guides", "Reference", "Explanation"]
    named = {path for paths in parts.values() for path in paths}
    decisions = set((ROOT / "docs" / "decisions").glob("0*.md"))
    assert set(pages()) - named - decisions == {INDEX}
    assert all(Link(INDEX, path, "").path.exists() for path in named)
