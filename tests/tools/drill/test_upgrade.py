"""A site of an older commit that becomes one of this checkout: its code, its people, what is a violation."""

import json
import subprocess
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from apps.events.leases import State
from apps.events.models import Event
from runner import programs
from runner.checkout import ROOT
from runner.terminal import LaunchError
from tests.support.waiting import wait_until
from tools.drill import __main__ as program
from tools.drill import upgrade as upgrading
from tools.drill.history import UNKNOWN, Operation
from tools.drill.older import OlderCode
from tools.drill.upgrade import Upgrade
from tools.drill.verdict import Verdicts
from tools.drill.world import Person, SpareToken, World, world_of


@pytest.fixture(scope="module")
def older(tmp_path_factory):
    is_checkout = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=False
    )
    if is_checkout.returncode:
        pytest.skip("not a checkout of git")
    return OlderCode("HEAD", tmp_path_factory.mktemp("drill") / "older")


@pytest.mark.long
def test_the_older_code_is_run_from_its_own_folder(older):
    assert (older.root / "manage.py").exists()
    command = older.command(programs.web(host="127.0.0.1", port=1))
    assert command[2] == str(older.root / "serve.py")
    assert older.command(programs.beat(schedule=Path("/x"))) == programs.beat(schedule=Path("/x"))
    own = older.environment({"A": "1", "PYTHONPATH": str(ROOT)})
    assert (own["A"], own["PYTHONPATH"]) == ("1", str(older.root))
    assert own["STATIC_ROOT"].startswith(str(older.root))


def test_a_commit_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(LaunchError, match="no-such-commit"):
        OlderCode("no-such-commit", tmp_path / "older")


def test_people_survive_the_way_from_the_older_code():
    world = World(
        [Person(1, "p0", "token", "session")], [0.5], [7, 8], {(1, 7), (1, 8)}, {1: 3}, {3: {7}},
        {"client_id": "c"}, [SpareToken(0, 1, "spare")],
    )  # fmt: skip
    assert world_of(json.loads(json.dumps(asdict(world), default=list))) == world


class Process:
    """Notes in `log` that it starts and ends."""

    def __init__(self, name, log):
        self.name, self.log = name, log

    def start(self):
        self.log.append(f"+{self.name}")

    def stop(self):
        self.log.append(f"-{self.name}")


class Processes:
    def __init__(self, log):
        names = ("beat", "worker", "web0", "web1")
        self.by_name = {name: Process(name, log) for name in names}
        self.new = {name: Process(f"new {name}", log) for name in names}
        self.links = [Mock(address=name) for name in ("web0", "web1")]
        for link, name in zip(self.links, ("web0", "web1"), strict=True):
            link.name = name


def steps(monkeypatch, tmp_path, *, goes_back):
    """What an upgrade does, one step after the other, and the upgrade."""
    log = []
    processes: Any = Processes(log)
    monkeypatch.setattr(upgrading, "is_alive", lambda _address: True)
    monkeypatch.setattr(Upgrade, "_start_migrations", lambda _self: log.append("migrate"))
    monkeypatch.setattr(Upgrade, "_has_migrated", lambda _self: True)
    monkeypatch.setattr(Upgrade, "_handled", lambda _self: log.append("handled") or (lambda: True))
    monkeypatch.setattr(upgrading, "LockWatch", Mock())
    upgrade = Upgrade(
        Mock(commit="abc"),
        processes,
        environment={"DATABASE_URL": ""},
        log=tmp_path / "log",
        seconds=0,
        goes_back=goes_back,
    )
    wait_until(lambda: upgrade.step() or upgrade.is_over, "all steps are taken")
    return log, upgrade


FORWARD = [
    "migrate", "+new worker", "+new beat", "-worker", "-beat", "-web0", "+new web0", "-web1", "+new web1",
]  # fmt: skip
BACK = [
    "-new web0", "+web0", "-new web1", "+web1", "handled", "+worker", "+beat", "-new worker", "-new beat",
]  # fmt: skip


def test_workers_are_upgraded_first_and_go_back_last(monkeypatch, tmp_path):
    log, _ = steps(monkeypatch, tmp_path, goes_back=False)
    assert log == FORWARD
    log, upgrade = steps(monkeypatch, tmp_path, goes_back=True)
    assert log == [*FORWARD, *BACK, *FORWARD]
    assert "back to abc with the newer tables" in str(upgrade.told(Counter(), []))


@pytest.mark.django_db
def test_older_workers_wait_until_what_was_recorded_before_is_handled(monkeypatch):
    upgrade: Any = object.__new__(Upgrade)
    assert upgrade._handled()()
    event = Event.objects.create(name="post_published", payload={}, subscriber="x")
    are_handled = upgrade._handled()
    assert not are_handled()
    Event.objects.create(name="post_published", payload={}, subscriber="x")
    event.state = State.DONE
    event.save()
    assert are_handled(), "newer events are those of the older version"
    monkeypatch.setattr(upgrading, "HANDLED_SECONDS", -1)
    with pytest.raises(LaunchError, match="1 events of the newer version stay pending"):
        upgrade._handled()()


def judged(*answered, operations=()):
    upgrade: Any = object.__new__(Upgrade)
    upgrade._locks = Mock()
    verdicts = Verdicts()
    upgrade.judge(verdicts, Counter(answered), operations)
    return verdicts["I35"]


def test_an_error_of_the_site_is_a_violation_and_a_refusal_is_not():
    assert judged(200, 404, 503, 429).violations == 0
    failed = Operation(0, 1, "publish", 1.0, {}, 2.0, UNKNOWN, 500)
    found = judged(200, 500, 500, 502, operations=[failed])
    assert (found.checked, found.violations) == (4, 3)
    assert found.found == ["2 times 500: publish", "1 times 502: repeated since"]


def test_what_it_does_not_go_with_is_said(capsys):
    with pytest.raises(SystemExit):
        program.main(["--upgrade", "HEAD", "--with-widths"])
    assert "--upgrade goes neither" in capsys.readouterr().err
