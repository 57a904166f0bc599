"""What becomes of a mutant, and of a test that could catch nothing; no servers."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from runner.checkout import ROOT
from runner.terminal import LaunchError
from tools.mutate import run
from tools.mutate.__main__ import write
from tools.mutate.mutants import Mutant
from tools.mutate.run import Useless, Verdict, copy_of_checkout, try_one, useless_tests

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_passes" />
<testcase classname="tests.test_a" name="test_some[1]"><skipped message="not here" /></testcase>
<testcase classname="tests.test_a" name="test_some[2]" />
<testcase classname="tests.test_a.TestThem" name="test_fails[1]" />
<testcase classname="tests.test_a.TestThem" name="test_fails[2]"><failure>1 != 2</failure></testcase>
<testcase classname="tests.test_a" name="test_errs"><error>no server</error></testcase>
<testcase classname="tests.test_a" name="test_skips[1]"><skipped message="no Cassandra" /></testcase>
</testsuite></testsuites>"""


class Checkouts(run.Copies):
    """One copy in which pytest says what the mutated file says."""

    def __init__(self, place):
        self.place = place

    def one(self):
        return nullcontext(self.place)

    def run(self, copy, tests, *options):
        assert (tests, options) == (["tests/test_a.py"], ("-x",))
        return int((copy / "a.py").read_text()), "printed"


def test_what_fails_is_caught_and_the_copy_is_put_back(tmp_path):
    (tmp_path / "a.py").write_text("9")
    for code, verdict in ((0, Verdict.SURVIVED), (1, Verdict.CAUGHT), (4, Verdict.BROKEN)):
        mutant = Mutant("S01", "nothing", "a.py", "9", str(code), "tests/test_a.py")
        assert try_one(Checkouts(tmp_path), mutant) == run.Result(mutant, verdict, "printed")
        assert (tmp_path / "a.py").read_text() == "9"


class Reports(Checkouts):
    """pytest writes the report above."""

    def run(self, copy, tests, *options):
        [option] = options
        Path(option.partition("=")[2]).write_text(REPORT)
        return 1, "printed"


def test_a_test_that_fails_or_skips_itself_without_a_mutant_catches_nothing(tmp_path):
    names = (
        "test_passes",
        "test_some",
        "TestThem::test_fails",
        "test_errs",
        "test_skips",
        "test_gone",
    )
    mutants = [Mutant("S01", name, "a.py", "9", "1", f"tests/test_a.py::{name}") for name in names]
    found = useless_tests(Reports(tmp_path), mutants, 1)
    assert {test.removeprefix("tests/test_a.py::"): one for test, one in found.items()} == {
        "TestThem::test_fails": Useless(Verdict.BROKEN, "fails without a mutant: 1 != 2"),
        "test_errs": Useless(Verdict.BROKEN, "fails without a mutant: no server"),
        "test_skips": Useless(Verdict.SKIPPED, "no Cassandra"),
        "test_gone": Useless(Verdict.BROKEN, "pytest did not run it"),
    }


def test_mutants_of_a_useless_test_are_not_tried(tmp_path):
    mutants = [Mutant("S01", "nothing", "a.py", "9", "1", "tests/test_a.py")]
    skipped = Useless(Verdict.SKIPPED, "no Cassandra")
    tried: list[run.Result] = []
    [result] = run.run(Reports(tmp_path), mutants, {"tests/test_a.py": skipped}, 1, tried.append)
    assert tried == []
    assert result == run.Result(mutants[0], Verdict.SKIPPED, "no Cassandra")


def test_the_table_says_of_each_what_became_of_it(tmp_path):
    mutant = Mutant("S01", "nothing", "a.py", "9", "1", "tests/test_a.py::test_a")
    results = [
        run.Result(mutant, verdict, "printed") for verdict in (Verdict.CAUGHT, Verdict.SURVIVED)
    ]
    table = write(tmp_path, results).read_text()
    assert ": 1 caught, 1 survived." in table
    assert "| S01 | nothing | `tests/test_a.py::test_a` | survived |" in table


def test_a_copy_has_what_tests_read_and_nothing_else(tmp_path, monkeypatch):
    copy = copy_of_checkout(tmp_path / "copy")
    for name in ("requirements.txt", "run", ".env.example", "docs/requirements.md"):
        assert (copy / name).read_bytes() == (ROOT / name).read_bytes()
    assert not (copy / ".git").exists()
    monkeypatch.setattr(run, "ROOT", tmp_path)
    with pytest.raises(LaunchError, match="git does not list"):
        copy_of_checkout(tmp_path / "other")
