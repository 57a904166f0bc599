"""docs/requirements.md and docs/sources.md: no row is missing, and what they name exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "docs" / "requirements.md"
SOURCES = ROOT / "docs" / "sources.md"
CODE = ("apps", "feedcache", "feedsite", "runner", "tools")
# What a row begins with that is not whole: why, with the decision.
STATES = {
    "not built": r"not built: [^`]+\. `(?P<decision>docs/decisions/[\w.-]+)`$",
    "in part": r"in part: [^`;]+; missing: [^`;]+\(`(?P<decision>docs/decisions/[\w.-]+)`\)\. ",
}

# Figures, context and summaries: a document may show them, instead of a test.
CONTEXT = {"S06", "S13", "S57", "S70", "S71", "S86", "S142", "S143", "C29", "C32"}


def tables(document):
    """Rows of cells, without the heads of the tables."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in document.read_text().splitlines()
        if line.startswith("| ") and not line.startswith("|---")
    ]


@cache
def documented():
    """Row -> (modules, state, the cell of what shows it); conflicts (C) name no modules."""
    found = {}
    for row, _what, *where, shown in tables(REQUIREMENTS):
        if not re.fullmatch(r"[SC]\d+", row):
            continue
        assert row not in found, f"{row} stands twice"
        state, colon, _why = shown.partition(":")
        found[row] = (quoted(" ".join(where)), state if colon and state in STATES else "", shown)
    return found


def quoted(text):
    return re.findall(r"`([^`]+)`", text)


@cache
def names_in(path):
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    }


def is_module(place):
    return place.split("/")[0] in CODE and (ROOT / place).is_file()


def is_test(place):
    file, _separator, name = place.partition("::")
    path = ROOT / file
    return file.startswith("tests/") and path.is_file() and name in names_in(path)


def is_document(place):
    return place.startswith("docs/") and (ROOT / place).is_file()


def test_every_row_of_the_articles_is_there_in_order():
    systems = [f"S{number:02}" for number in range(1, 144)]
    conflicts = [f"C{number:02}" for number in range(1, 33)]
    assert list(documented()) == systems + conflicts


@pytest.mark.long
@pytest.mark.gate
def test_what_a_row_names_exists(subtests):
    for row, (modules, state, shown) in documented().items():
        with subtests.test(row):
            check_row(row, modules, state, quoted(shown))


def check_row(row, modules, state, places):
    assert [place for place in modules if not is_module(place) and not is_document(place)] == []
    assert [place for place in places if not is_test(place) and not is_document(place)] == []
    if state == "not built":
        assert not modules
        assert not any(map(is_test, places)), "a test shows what is not built"
        return
    assert row.startswith("C") or modules, f"{row} is nowhere"
    if row not in CONTEXT:
        assert all(map(is_module, modules))
        assert any(map(is_test, places)), f"{row} is shown by no test"
    assert places, f"{row} is shown by nothing"


def test_what_is_missing_is_said_with_its_decision(subtests):
    for row, (_modules, state, shown) in documented().items():
        if state:
            with subtests.test(row):
                reason = re.match(STATES[state], shown)
                assert reason, f"{row} does not say what is there and what is missing"
                assert is_document(reason["decision"])


def test_the_list_of_what_is_missing_is_that_of_the_rows():
    listed = re.findall(r"^- (Not built|In part): (.+)\.$", REQUIREMENTS.read_text(), re.MULTILINE)
    for state, names in listed:
        rows = [row for row, (_, found, _) in documented().items() if found == state.lower()]
        assert names.split(", ") == rows
    assert len(listed) == len(STATES)


def test_every_conclusion_of_the_articles_has_a_module_and_a_test():
    """S143: the summaries of the articles as a list of what to look at."""
    conclusions = [row for row in tables(SOURCES) if len(row) == 4][1:]
    assert conclusions
    for conclusion, source, where, shown in conclusions:
        assert source in {"000", "001", "002", "003", "004"}, conclusion
        assert [is_module(place) for place in quoted(where)] == [True], conclusion
        assert [is_test(place) for place in quoted(shown)] == [True], conclusion
