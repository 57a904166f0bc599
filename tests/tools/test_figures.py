"""Figures carry the commit that they are of, and none is of code that is long gone."""

import pytest

from runner.checkout import ROOT
from tools import figures

FILES = sorted(path for path in (ROOT / "docs/bench").iterdir() if path.suffix in {".json", ".md", ".svg"})  # fmt: skip
MAX_COMMITS = 200
PAST = {"home-flame-before.svg"}  # shows what was before, beside today's


def made_at(path):
    """The commit in a file that says of which code it is."""
    found = figures.MADE.search(path.read_text())
    assert found, f'{path.name} does not say "made at COMMIT, DATE"'
    return found[1]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_figure_is_older_than_two_hundred_commits(path):
    commit = made_at(path)
    if not figures.has_history():
        pytest.skip("there is no git with all commits here")
    since = figures.commits_since(commit)
    assert since is not None, f"git knows no commit {commit}"
    assert since <= MAX_COMMITS or path.name in PAST, f"{since} commits ago: ./run bench or vitals"


def test_what_belongs_to_one_run_is_of_one_commit():
    for json in (path for path in FILES if path.suffix == ".json"):
        others = [path for path in FILES if path.stem in {json.stem, f"{json.stem}-growth"}]
        assert {made_at(path) for path in others} == {made_at(json)}


def test_what_is_written_now_is_of_this_commit():
    made = figures.MADE.search(figures.made())
    assert made
    plot = figures.stamped('<svg role="img">\n<text>1 > 0</text></svg>')
    assert plot.startswith('<svg role="img"><desc>Made at ')
    assert plot.endswith("</desc>\n<text>1 > 0</text></svg>")
    if figures.has_history():
        assert figures.commits_since(made[1]) == 0
    assert figures.commits_since("0" * 40) is None
