"""Which tests a run takes, and how long it says that it will still take."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from runner.testing import QUICK
from tests.support import collection
from tests.support.markers import FIXTURES
from tests.support.progress import TRIAL_SECONDS, Estimate, pytest_terminal_summary

ROOT = Path(__file__).resolve().parent.parent


def test_every_fixture_that_marks_its_tests_exists():
    modules = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    assert [name for name in FIXTURES if f"\ndef {name}(" not in modules] == []


def test_every_marker_is_left_out_of_a_quick_run(pytestconfig):
    registered = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    left_out = set(re.findall(r"\w+", QUICK)) - {"not", "or"}
    assert left_out == {"flows", "browser", "clusters", "long", "slow"}
    assert left_out | {"gate"} <= registered


@pytest.mark.parametrize("number", [0, 1, 2])
def test_every_process_collects_the_same_from_another_place_and_nothing_that_is_ignored(number):
    ignored = ["tests/feedcache", "tests/tools"]
    config = SimpleNamespace(
        workerinput={"workerid": f"gw{number}", "workercount": 3},
        args=["tests"],
        rootpath=ROOT,
        getini=lambda _name: ["tests"],
        getoption=lambda _name: ignored,
    )
    collection.pytest_configure(config)
    found = {Path(place).relative_to(ROOT).as_posix() for place in config.args}
    assert {"tests/posts", "tests/test_progress.py"} <= found
    assert found.isdisjoint(ignored)
    assert (config.args == sorted(config.args)) == (number == 0)


def test_without_durations_every_test_counts_the_same():
    estimate = Estimate({}, ["a", "b", "c", "d"], workers=2)
    assert estimate.seconds_left(0.0) is None
    estimate.add("a")
    assert estimate.seconds_left(10.0) == 30.0


def test_the_last_run_says_how_long_the_rest_takes_at_this_runs_pace():
    estimate = Estimate({"a": 40.0, "b": 160.0}, ["a", "b"], workers=2)
    assert estimate.seconds_left(0.0) == 100.0
    estimate.add("a")
    estimate.add("a")  # once is enough
    assert estimate.seconds_left(20.0) == 80.0
    slower = estimate.seconds_left(20.0 + TRIAL_SECONDS)
    assert slower is not None
    assert slower > 80.0
    estimate.add("b")
    assert estimate.seconds_left(100.0) == 0.0


def test_a_new_test_takes_as_long_as_others_do():
    assert Estimate({"a": 1.0, "b": 3.0}, ["a", "b", "new"], workers=1).seconds_left(0.0) == 6.0


@pytest.mark.parametrize("failing", [True, False])
def test_a_failure_is_followed_by_the_seed(failing):
    lines: list[str] = []
    reporter = SimpleNamespace(
        stats={"failed": [1]} if failing else {"passed": [1]}, write_line=lines.append
    )
    config = SimpleNamespace(getoption=lambda name, _default: {"randomly_seed": 7}[name])
    pytest_terminal_summary(reporter, config)
    assert lines == ["once more in this order: --randomly-seed=7"] * failing
