import io
import os
import signal

import pytest

from runner import stop
from runner.datadir import DataDir
from runner.terminal import LaunchError
from tests.runner.onlookers import end, held_by_another_process


def test_stopping_what_does_not_run_says_so(data, capsys):
    assert stop.stop(data) == 0
    assert capsys.readouterr().out == f"feedsite is not running with {data.path}\n"


def test_stop_asks_the_holder_and_waits(data, capsys):
    process = held_by_another_process(data.path, "import time; time.sleep(60)")
    assert stop.stop(data) == 0
    assert process.wait(5) == -signal.SIGTERM
    assert capsys.readouterr().out == "feedsite has stopped\n"
    process.communicate()


def test_stop_leaves_a_manage_command_alone(data):
    process = held_by_another_process(data.path)
    data.path.joinpath("site.json").write_text(
        data.path.joinpath("site.json").read_text().replace('"site"', '"manage"')
    )
    with pytest.raises(LaunchError, match=r"A ./run manage command \(pid \d+\) is using"):
        stop.stop(data)
    assert process.poll() is None
    end(process)


def test_reset_refuses_while_the_site_runs(data):
    process = held_by_another_process(data.path)
    with pytest.raises(LaunchError, match="first: ./run stop"):
        stop.reset(data, confirmed=True)
    assert data.is_ours()
    end(process)


def test_reset_without_a_terminal_needs_a_word(data, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(LaunchError, match="--yes"):
        stop.reset(data, confirmed=False)
    assert data.is_ours()


@pytest.mark.parametrize(
    ("answer", "status", "left"), [("y", 0, False), ("", 1, True), ("n", 1, True)]
)
def test_reset_asks(data, monkeypatch, answer, status, left):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _question: answer)
    assert stop.reset(data, confirmed=False) == status
    assert data.path.exists() is left


def test_reset_of_a_foreign_directory_deletes_nothing(place):
    (place / "media").mkdir()
    with pytest.raises(LaunchError, match="not made by feedsite"):
        stop.reset(DataDir(place), confirmed=True)
    assert (place / "media").exists()


def test_reset_of_nothing_is_fine(place, capsys):
    assert stop.reset(DataDir(place / "none"), confirmed=True) == 0


def test_two_resets_do_not_meet(data):
    process = held_by_another_process(data.path)
    data.note("reset")
    with pytest.raises(
        LaunchError, match=rf"is being deleted by ./run reset \(pid {os.getpid()}\)"
    ):
        stop.reset(data, confirmed=True)
    end(process)
