"""docs/where.md: each place that it names is there, and has what the row says of it."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = "feedsite/settings.py"
MAX_CHARACTERS = 90  # of a behaviour: what can be taken in at a glance
ROW = re.compile(
    r"\| (?P<what>.+) \| `(?P<place>[\w./-]+): (?P<name>[\w.]+)`(?:, `(?P<setting>[A-Z_]+)`)? \|"
)


@cache
def rows():
    lines = (ROOT / "docs" / "where.md").read_text().splitlines()
    return [line for line in lines if line.startswith("| ") and line != "| what | where |"]


@cache
def names_in(place):
    """What a module defines, and what its classes do; of other files all words."""
    text = (ROOT / place).read_text()
    if not place.endswith(".py"):
        return {*re.findall(r"\w+", text)}
    found = set()
    for node in ast.parse(text).body:
        names = defined_by(node)
        found.update(names)
        if isinstance(node, ast.ClassDef):
            found.update(f"{node.name}.{name}" for part in node.body for name in defined_by(part))
    return found


def defined_by(node):
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [
        one.id
        for target in targets
        if target
        for one in ast.walk(target)
        if isinstance(one, ast.Name)
    ]


@pytest.mark.long
@pytest.mark.gate
def test_each_row_names_one_place_and_what_decides_there(subtests):
    assert rows()
    for line in rows():
        with subtests.test(line):
            row = ROW.fullmatch(line)
            assert row, "| behaviour | `module.py: name`, `SETTING` |"
            assert len(row["what"]) <= MAX_CHARACTERS
            assert (ROOT / row["place"]).is_file()
            assert row["name"] in names_in(row["place"])
            if row["setting"]:
                assert row["setting"] in names_in(SETTINGS)
                assert f"settings.{row['setting']}" in (ROOT / row["place"]).read_text()


def test_no_behaviour_stands_twice():
    assert [
        what
        for what, number in Counter(line.split(" | ")[0] for line in rows()).items()
        if number > 1
    ] == []
