"""docs/requirements.md: no row of the source articles is lost, and every test it names exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "requirements.md"
ROWS = (
    [f"S{number}" for number in range(25, 76)]
    + ["S03", "S08", "S16", "S17", "S18", "S91", "C06"]
    + ["S76", "S77", "S84", "S85", "S86", "S88", "S93", "S94", "S95", "S96"]
    + [f"S{number}" for number in range(98, 106)]
    + ["S115", "S120", "S121", "S122", "S123", "S124", "S125", "S126"]
    + ["C02", "C03", "C04"]
    + [f"C{number}" for number in range(10, 17)]
    + ["S04", "S78", "S79", "S80", "S81", "S82", "S83", "S87", "S89", "S90", "S92", "S97"]
    + ["C01", "C05", "C23", "C31"]
    + ["C18", "C19", "C20", "C22", "C24", "C25"]
    + ["S15", "S106", "S107", "S134", "S135", "S136", "S137", "C07", "C08", "C21"]
    + ["S130", "C26"]
    + ["S24", "S139", "S140", "S141", "S142"]
)


def documented():
    """Row -> what shows it, from the tables of the document."""
    found = {}
    for line in DOCUMENT.read_text().splitlines():
        if cells := re.fullmatch(r"\| ([SC]\d+) \| (.*) \| (.*) \|", line):
            assert cells[1] not in found, f"{cells[1]} stands twice"
            found[cells[1]] = re.findall(r"`([^`]+)`", cells[3])
    return found


@cache
def names_in(path):
    tree = ast.parse(path.read_text())
    return {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


@pytest.mark.parametrize("row", ROWS)
def test_every_row_is_shown_by_something_that_exists(row):
    places = documented().get(row)
    assert places, f"{row} is shown by nothing"
    for place in places:
        file, _separator, name = place.partition("::")
        path = ROOT / file
        assert path.exists(), place
        if name:
            assert name in names_in(path), place


def test_a_row_shown_by_a_document_only_is_context():
    """P3 rows are figures and context: a page says what became of them. All others need a test."""
    by_document = [
        row for row, places in documented().items() if not any("::" in place for place in places)
    ]
    assert set(by_document) <= {"S53", "S57", "S70", "S71", "S86"}
