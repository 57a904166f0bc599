"""Which tests `./run test` takes."""

import subprocess

import pytest

from runner import testing
from tools import figures


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


def test_what_nothing_has_touched_since_it_was_cloned_is_left_to_the_check(tmp_path, monkeypatch):
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q", str(origin)], check=True)
    subprocess.run([*git, "-C", str(origin), "commit", "-qm", "One", "--allow-empty"], check=True)
    monkeypatch.setattr(testing, "ROOT", origin)
    assert testing._published() == ""  # nobody has it from anywhere
    assert testing.left_out("", "the check") == []
    subprocess.run([*git, "clone", "-q", str(origin), str(clone)], check=True)
    monkeypatch.setattr(testing, "ROOT", clone)
    published = testing._published()
    assert len(published) == 40
    subprocess.run([*git, "-C", str(clone), "commit", "-qm", "Two", "--allow-empty"], check=True)
    assert testing._published() == published


@pytest.mark.skipif(not figures.has_history(), reason="there is no git with all commits here")
def test_they_are_named(capsys):
    folders = testing.left_out("HEAD", "the check")
    said = capsys.readouterr()
    assert all(folder in said.out + said.err for folder in folders)
    assert set(folders) <= {"tests/feedcache", "tests/runner", "tests/tools"}


def test_without_git_everything_runs(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert testing._published() == ""
