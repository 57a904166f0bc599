"""Which Python the checks take besides their own."""

import json
import sys

import pytest

from runner import checks
from runner.checkout import ROOT


@pytest.fixture
def home(tmp_path, monkeypatch):
    """No Python on PATH, and none of pyenv's."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    return tmp_path


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def test_without_one_it_is_said_and_nothing_fails(home, capsys):
    assert checks.find_python("9.99") is None
    assert checks._tests_on_image_python() == []
    if sys.version_info[:2] != (3, 13):
        assert "its tests are left out" in capsys.readouterr().out


def test_a_shim_that_leads_nowhere_is_passed_over(home):
    program(home / "bin" / "python9.99", "#!/bin/sh\nexit 127\n")
    assert checks.find_python("9.99") is None
    chosen = home / ".pyenv" / "versions" / "9.99.1" / "bin" / "python"
    program(chosen, "#!/bin/sh\nexit 0\n")
    assert checks.find_python("9.99") == str(chosen)


def test_its_tests_are_there():
    assert [name for name in checks.IMAGE_TESTS if not (ROOT / name).exists()] == []


def test_without_a_choice_the_quick_tests_run_and_with_all_every_test():
    quick, everything = checks.pytest_arguments([]), checks.pytest_arguments(["--all"])
    assert quick[-3:] == ["--progress", "-m", checks.QUICK]
    assert everything[-1] == "--progress"
    assert checks.pytest_arguments(["-x"])[-3:] == ["-m", checks.QUICK, "-x"]
    assert checks.pytest_arguments(["-n", "1"]) == ["--progress", "-m", checks.QUICK, "-n", "1"]


@pytest.mark.parametrize(
    "chosen",
    [
        ["tests/posts"],
        ["-q", "tests/posts/test_actions.py::test_x"],
        ["-k", "edit"],
        ["-mbrowser"],
        ["--lf"],
    ],
)
def test_what_is_chosen_runs_as_it_was_chosen(chosen):
    assert checks.pytest_arguments(chosen) == chosen
    assert checks.pytest_arguments(["--all", *chosen]) == chosen


@pytest.mark.parametrize(
    ("codes", "failed", "passes", "turns"),
    [
        ([0], 0, True, 1),
        ([1, 0], 2, True, 2),
        ([1, 1], 2, False, 2),
        ([1], checks.MAX_SECOND_TURNS + 1, False, 1),  # no accident
        ([2], 0, False, 1),  # interrupted
    ],
)
def test_a_few_failures_get_a_second_turn(
    monkeypatch, tmp_path, capsys, codes, failed, passes, turns
):
    asked = []
    kept = tmp_path / "lastfailed"
    kept.write_text(json.dumps({f"tests/test_{number}.py": True for number in range(failed)}))
    monkeypatch.setattr(checks, "LAST_FAILED", kept)

    def pytest_turn(arguments):
        asked.append(arguments)
        return codes.pop(0)

    monkeypatch.setattr(checks, "_pytest", pytest_turn)
    assert checks._tests_pass() is passes
    assert len(asked) == turns
    assert ("Passed on their own only" in capsys.readouterr().out) is (passes and turns == 2)
