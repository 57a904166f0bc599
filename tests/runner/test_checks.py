"""What the gate and the nightly run do, and when they stop."""

import subprocess
import sys
import threading
from importlib import import_module
from types import SimpleNamespace

import pytest

from runner import checks, lint, testing
from runner.arguments import PASSED_ON
from runner.short_forms import SHORT_FORMS

WORKS = [sys.executable, "-c", ""]
FAILS = [sys.executable, "-c", "print('it broke'); raise SystemExit(1)"]


def step(name, command):
    return lint.Step(name, command)


class Pytest:
    """In pytest's place: it ends when it is told to, or with a code of its own."""

    def __init__(self, code=None):
        self.code = code
        self.ended = threading.Event()

    def poll(self):
        return self.code

    def send_signal(self, number):
        self.code = 2
        self.ended.set()

    def wait(self):
        if self.code is None:
            assert self.ended.wait(30), "nobody ended the tests"
        return self.code

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


@pytest.fixture
def gate(monkeypatch):
    """`gate(quick, slow, forms, tests)`: what failed, and the commands of pytest that were begun."""

    def run(*, quick=WORKS, slow=WORKS, form=WORKS, core=WORKS, tests):
        begun = []
        steps = {lint.QUICK: [step("quick", quick)], lint.SLOW: [step("slow", slow)]}
        monkeypatch.setattr(lint, "steps", lambda names: steps[names])
        monkeypatch.setattr(checks, "SHORT_FORMS", (("verb", "--short"),))
        monkeypatch.setattr(checks, "_run", lambda *_form: form)
        monkeypatch.setattr(checks, "_core_tests", lambda: core)

        def begin(command, **_options):
            begun.append(command)
            return tests

        monkeypatch.setattr(
            checks, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": begin})
        )
        return checks._gate(""), begun

    return run


def test_all_is_well(gate):
    failed, begun = gate(tests=Pytest(0))
    assert failed == []
    assert [command[command.index("-m", 3) + 1] for command in begun] == [testing.GATE]


def test_a_failed_quick_step_is_said_before_any_test_begins(gate, capsys):
    failed, begun = gate(quick=FAILS, tests=Pytest(0))
    assert (failed, begun) == (["quick"], [])
    assert "it broke" in capsys.readouterr().out


def test_a_failed_slow_step_ends_the_tests_and_no_tool_runs(gate, capsys):
    failed, _begun = gate(slow=FAILS, form=FAILS, tests=Pytest())
    assert failed == ["tests", "slow"]
    assert "run verb" not in capsys.readouterr().out


def test_a_test_that_fails_is_red_without_a_second_turn(gate):
    failed, begun = gate(tests=Pytest(1))
    assert failed == ["tests"]
    assert len(begun) == 1


def test_a_broken_tool_is_named(gate):
    failed, _begun = gate(form=FAILS, tests=Pytest(0))
    assert failed == ["run verb --short"]


def test_a_core_that_needs_an_optional_app_is_named(gate):
    failed, _begun = gate(core=FAILS, tests=Pytest(0))
    assert failed == ["core alone"]


def test_the_night_goes_on_after_a_failure_and_shows_how_its_log_ends(
    monkeypatch, tmp_path, capsys
):
    jobs = [checks.Job("first thing", FAILS, {}), checks.Job("second", WORKS, {})]
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    monkeypatch.setattr(checks, "NIGHTLY_LOGS", tmp_path / "nightly")
    monkeypatch.setattr(checks, "nightly_jobs", lambda: jobs)
    assert checks._night() == ["first thing"]
    assert "it broke" in capsys.readouterr().out
    assert [log.name for log in sorted((tmp_path / "nightly").iterdir())] == [
        "01-first-thing.log",
        "02-second.log",
    ]


@pytest.mark.slow
def test_the_night_runs_every_verb_in_its_whole_form():
    commands = [list(job.command) for job in checks.nightly_jobs()]
    verbs = {command[command.index("runner") + 1] for command in commands if "runner" in command}
    assert verbs >= set(PASSED_ON) - {"manage"}
    suites = {command[-1] for command in commands if "bench" in command}
    assert suites == {form[1] for form in SHORT_FORMS if form[0] == "bench"}


@pytest.mark.slow
def test_the_night_uses_options_that_the_tools_have(monkeypatch):
    monkeypatch.setenv(checks.CITUS_PROGRAMS, "/usr/lib/postgresql/17/bin")
    commands = [list(job.command) for job in checks.nightly_jobs()]
    lines = [command[command.index("runner") + 1 :] for command in commands if "runner" in command]
    with_options = [line for line in lines if line[0] in {"drill", "fuzz", "bench", "docs"}]
    assert sum(line[0] == "drill" for line in with_options) >= 4
    for verb, *options in with_options:
        import_module(f"tools.{verb}.__main__").command_parser().parse_args(options)


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


def test_another_python_that_is_not_there_is_named_and_left_out(home, capsys):
    assert checks.find_python("9.99") is None
    assert list(checks._other_pythons({})) == []
    assert "not found on PATH" in capsys.readouterr().out


def test_a_shim_that_leads_nowhere_is_passed_over(home):
    program(home / "bin" / "python9.99", "#!/bin/sh\nexit 127\n")
    assert checks.find_python("9.99") is None
    chosen = home / ".pyenv" / "versions" / "9.99.1" / "bin" / "python"
    program(chosen, "#!/bin/sh\nexit 0\n")
    assert checks.find_python("9.99") == str(chosen)
