"""Which tests `./run test` takes."""

import pytest

from runner import testing


def test_without_a_choice_the_quick_tests_run_and_with_all_every_test():
    quick, everything = testing.pytest_arguments([]), testing.pytest_arguments(["--all"])
    assert quick[-3:] == ["--progress", "-m", testing.QUICK]
    assert everything[-2:] == ["--progress", testing.THOROUGH]
    assert testing.pytest_arguments(["-x"])[-3:] == ["-m", testing.QUICK, "-x"]
    assert testing.pytest_arguments(["-n", "1"]) == ["--progress", "-m", testing.QUICK, "-n", "1"]


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
    assert testing.pytest_arguments(chosen) == chosen
    assert testing.pytest_arguments(["--all", *chosen]) == chosen


def test_servers_of_the_shell_are_not_those_of_the_tests(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://production")
    monkeypatch.setenv("HOME", "/home/somebody")
    environment = testing.environment()
    assert "DATABASE_URL" not in environment
    assert environment["HOME"] == "/home/somebody"
