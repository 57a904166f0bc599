"""The list of mutants fits the code and the rows; whether they are caught shows `./run mutate`."""

import ast
import re
from functools import cache

import pytest

from runner.checkout import ROOT
from tools.mutate.mutants import Mutant, load

MUTANTS = load()
ROWS = dict(
    re.findall(r"^\| (S\d+) (\|.*)$", (ROOT / "docs/requirements.md").read_text(), re.MULTILINE)
)


@pytest.mark.long
def test_a_mutant_changes_one_place_and_its_row_names_the_test(subtests):
    for mutant in MUTANTS:
        with subtests.test(row=mutant.row, what=mutant.what):
            assert (ROOT / mutant.file).read_text().count(mutant.old) == 1
            assert mutant.old != mutant.new
            path, *classes, name = mutant.test.split("::")
            assert f"`{path}::{name}`" in ROWS[mutant.row]
            assert name in functions(ROOT / path, classes)


@cache
def parsed(path):
    return ast.parse(path.read_text())


def functions(path, classes):
    """The names of the functions of a module, or of a class in it."""
    body = parsed(path).body
    for wanted in classes:
        [body] = [one.body for one in body if isinstance(one, ast.ClassDef) and one.name == wanted]
    return {one.name for one in body if isinstance(one, ast.FunctionDef)}


# Why there is nothing to take away.
WITHOUT = {
    "S57": "it is not built",
    "S108": "Citus does it",
    "S86": "context in the articles",
    "S143": "a table of documents, which its own test reads",
}


def test_every_mechanism_has_a_mutant():
    mechanisms = {row for row in ROWS if int(row[1:]) >= 17} - WITHOUT.keys()
    assert mechanisms - {mutant.row for mutant in MUTANTS} == set()


def test_no_mutant_stands_twice():
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)
    rows = [int(mutant.row[1:]) for mutant in MUTANTS]
    assert rows == sorted(rows)


def test_a_text_that_is_not_there_once_is_an_error(tmp_path):
    (tmp_path / "a.py").write_text("one two one")
    mutant = Mutant("S01", "nothing", "a.py", "one", "three", "tests/test_a.py")
    with pytest.raises(ValueError, match="2 times"):
        mutant.apply(tmp_path)
    assert (tmp_path / "a.py").read_text() == "one two one"
