"""docs/decisions/README.md: where the modules are that the decisions name."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DECISIONS = ROOT / "docs" / "decisions"
FOLDERS = ("apps", "feedcache", "feedsite", "runner", "tests", "tools")
README = (DECISIONS / "README.md").read_text()


@cache
def modules():
    found = [*ROOT.glob("*.py")]
    for folder in FOLDERS:
        found += [*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.proto")]
    return [f"/{path.relative_to(ROOT)}" for path in found]


def is_there(name):
    """A module by the end of its path, with its ending or without, or a folder of modules; or any whole path."""
    place = f"/{name.strip('/')}"
    return (ROOT / name).exists() or any(
        f"{place}/" in path or path.endswith((place, f"{place}.py")) for path in modules()
    )


def named_in(text):
    """The modules that a text names by a path."""
    return [
        name
        for name in re.findall(r"`([\w./-]+)(?:::\w+)?`", text)
        if name.endswith(".py") or name.split("/")[0] in FOLDERS
    ]


@pytest.mark.slow
def test_what_a_decision_names_is_there_or_its_new_name_is_told(subtests):
    before = set(named_in(" ".join(re.findall(r"^\| (.+?) \|", README, re.MULTILINE))))
    for decision in sorted(DECISIONS.glob("0*.md")):
        with subtests.test(decision.name):
            gone = {name for name in named_in(decision.read_text()) if not is_there(name)}
            assert gone <= before


def test_the_new_names_are_those_of_today(subtests):
    rows = re.findall(r"^\| (`.+) \| (`.+) \|$", README, re.MULTILINE)
    assert rows
    for _before, now in rows:
        with subtests.test(now):
            names = named_in(now)
            assert names
            assert [name for name in names if not (ROOT / name).exists()] == []


def test_every_decision_is_in_the_index_once():
    index = README.partition("## Names that have changed since")[0]
    in_force, _heading, superseded = index.partition("## Superseded")
    listed = re.findall(r"^- \[(\d+)\]\((.+?)\) (.+)$", in_force, re.MULTILINE)
    rows = re.findall(r"^\| \[(\d+)\]\((.+?)\) (.+?) \| \[(\d+)\]", superseded, re.MULTILINE)
    found = {(number, file, title) for number, file, title, *_by in (*listed, *rows)}
    assert len(found) == len(listed) + len(rows)
    assert found == {(path.name[:4], path.name, title_of(path)) for path in DECISIONS.glob("0*.md")}
    assert {(number, by) for number, _file, _title, by in rows} == {
        (path.name[:4], by)
        for path in DECISIONS.glob("0*.md")
        for by in re.findall(r"^\*\*Superseded by \[(\d+)\]", path.read_text(), re.MULTILINE)
    }


def title_of(path):
    return re.sub(r"^# \d+[.:]? ", "", path.read_text().partition("\n")[0])
