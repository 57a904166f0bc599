"""Which tests add nothing."""

import coverage
import pytest

from tools import redundant


def lines(*numbers):
    return {(1, number) for number in numbers}


def test_what_others_cover_and_no_mutant_needs_could_go():
    covered = {"large": lines(1, 2, 3), "small": lines(1, 2), "own": lines(4), "mutant": lines(1)}
    assert redundant.superfluous(covered, {"mutant"}) == ["small"]


def test_of_two_that_cover_the_same_one_stays():
    assert len(redundant.superfluous({"a": lines(1), "b": lines(1)}, set())) == 1


def test_the_parameters_of_a_test_are_one_function(tmp_path):
    data = coverage.CoverageData(str(tmp_path / "data"))
    for context, line in (("t.py::test_a[1]|run", 1), ("t.py::test_a[2]|setup", 2), ("", 3)):
        data.set_context(context)
        data.add_lines({"/x.py": [line]})
    data.write()
    assert redundant.lines_by_function(tmp_path / "data") == {"t.py::test_a": lines(1, 2)}


def test_without_data_it_says_how_to_make_them(tmp_path, capsys):
    assert redundant.main(tmp_path / "none") == 2
    assert "--cov-context=test" in capsys.readouterr().err


@pytest.mark.parametrize("context", ["", "tests/a.py::test_b|call", "tests/a.py::test_b[x|y]|call"])
def test_contexts(context):
    assert redundant.function_of(context) == ("tests/a.py::test_b" if context else "")
