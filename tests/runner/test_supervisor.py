import sys
import time

import pytest

from runner import processes, supervisor
from runner.processes import Child
from runner.supervisor import Supervisor, Unit
from runner.terminal import LaunchError
from tests.support.waiting import wait_until

pytestmark = pytest.mark.flows


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(supervisor, "FIRST_PAUSE_SECONDS", 0.01)


# writes until told to go on; then once more
GOES_ON = """
import os, time
print("x" * 20, flush=True)
while not os.path.exists({word!r}):
    time.sleep(0.01)
print("new", flush=True)
time.sleep(60)
"""


def unit(place, code, name="thing", *, is_vital=True):
    command = [sys.executable, "-c", code]
    log = place / f"{name}.log"
    return Unit(name, lambda: processes.spawn(name, command, log=log), 5, is_vital=is_vital)


def test_what_ends_is_started_again(place, capsys):
    one = unit(place, "import time; time.sleep(60)")
    one.child = one.start()
    first = one.child.pid
    one.child.popen.kill()
    one.child.popen.wait()
    keeper = Supervisor([one])
    keeper.check()
    time.sleep(0.02)
    keeper.check()
    again = one.child.pid
    assert again != first
    assert keeper.stop() == []
    assert capsys.readouterr().err == "thing was killed by signal 9; starting it again in 0.01 s\n"


def test_a_log_is_put_aside_while_its_process_goes_on(place, monkeypatch):
    monkeypatch.setattr(processes, "LOG_LIMIT_BYTES", 10)
    log, word = place / "thing.log", place / "word"
    one = unit(place, GOES_ON.format(word=str(word)))
    one.child = one.start()
    keeper = Supervisor([one])
    wait_until(lambda: log.read_text() == "x" * 20 + "\n", "the log is large")
    keeper.check()
    word.touch()
    wait_until(lambda: log.read_text() == "new\n", "the process goes on in an empty log")
    assert log.with_suffix(".log.1").read_text() == "x" * 20 + "\n"
    assert keeper.stop() == []


def test_what_never_stays_is_given_up_with_its_last_words(place, capsys):
    keeper = Supervisor([unit(place, "raise SystemExit('Error: port taken')")])
    with pytest.raises(LaunchError, match="thing ended 5 times .* Last words: Error: port taken"):
        keeper.run()
    assert capsys.readouterr().err.count("starting it again") == 4


def test_a_start_that_fails_is_tried_again_and_given_up(place, capsys):
    def start():
        raise LaunchError("no binary")

    with pytest.raises(LaunchError, match="no binary"):
        Supervisor([Unit("thing", start, stop_seconds=1, is_vital=True)]).run()
    assert capsys.readouterr().err.count("no binary; starting it again") == 4


def test_a_unit_is_started_anew_whatever_became_of_it(place, capsys):
    one = unit(place, "import time; time.sleep(60)", is_vital=False)
    keeper = Supervisor([one])
    keeper.restart(one)
    first = one.child.pid
    one.quick_deaths = supervisor.MAX_QUICK_DEATHS
    keeper.restart(one)
    assert one.child.pid != first
    assert one.quick_deaths == 0
    assert keeper.stop() == []
    assert capsys.readouterr().err == ""


def until(condition, keeper):
    while not condition():
        keeper.check()
        time.sleep(0.01)


def test_a_cache_that_never_stays_stops_nothing(place, capsys):
    """A node of Memcached that was killed six times took web and PostgreSQL with it."""
    others = unit(place, "import time; time.sleep(60)", name="web")
    node = unit(
        place, "raise SystemExit('Error: no memory')", name="Memcached l1-0", is_vital=False
    )
    began, keeper = time.monotonic(), Supervisor([])
    keeper.add(others)
    keeper.add(node)
    until(lambda: node.quick_deaths == supervisor.MAX_QUICK_DEATHS, keeper)
    said = capsys.readouterr().err.splitlines()[-1]
    assert "Memcached l1-0 ended 5 times" in said
    assert "Last words: Error: no memory" in said
    assert said.endswith("the site continues without it; next attempt in 30 s")
    assert (node.child, others.child.running()) == (None, True)
    assert node.due >= began + 30
    node.due = 0
    until(lambda: node.quick_deaths == supervisor.MAX_QUICK_DEATHS + 1, keeper)
    assert capsys.readouterr().err.endswith("next attempt in 60 s\n")
    keeper.stop()


def test_a_site_begins_without_a_cache_that_cannot_be_started(capsys):
    def start():
        raise LaunchError("no binary")

    keeper = Supervisor([])
    keeper.add(Unit("Memcached l1-0", start, stop_seconds=1))
    assert "no binary; starting it again" in capsys.readouterr().err
    with pytest.raises(LaunchError, match="no binary"):
        keeper.add(Unit("PostgreSQL", start, stop_seconds=1, is_vital=True))


def test_all_stop_in_the_opposite_order(place):
    stopped = []

    def unused() -> Child:
        raise AssertionError("nothing is started here")

    class Recorded(Unit):
        def stop(self):
            stopped.append(self.name)
            return super().stop()

    keeper = Supervisor([Recorded(name, unused, 1) for name in ("database", "worker", "web")])
    keeper.stop()
    assert stopped == ["web", "worker", "database"]


def test_a_long_life_forgives_earlier_deaths(place, monkeypatch, capsys):
    monkeypatch.setattr(supervisor, "QUICK_SECONDS", 0.0)
    one = unit(place, "")
    keeper = Supervisor([one])
    for _ in range(supervisor.MAX_QUICK_DEATHS + 2):
        keeper.check()
        if one.child is not None:
            one.child.popen.wait()
        one.due = 0
    assert one.quick_deaths <= 1
    keeper.stop()
