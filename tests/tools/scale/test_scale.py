"""`./run scale` on the smallest set: what works, what is refused, what is not to be had, and that nothing stays."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runner.testing import SERVER_SETTINGS
from tools.scale import NotToBeHad
from tools.scale.certificates import make_certificates
from tools.scale.engines import ENGINES
from tools.scale.redis_servers import RedisWithTls, has_tls
from tools.scale.site import verdict

pytestmark = pytest.mark.clusters

ROOT = Path(__file__).resolve().parents[3]


def scale(*arguments, seconds=240):
    environment = {name: value for name, value in os.environ.items() if name not in SERVER_SETTINGS}
    return subprocess.run(
        [sys.executable, "-P", "-m", "tools.scale", *arguments], cwd=ROOT, timeout=seconds,
        env={**environment, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_verdicts_and_no_process_is_left(tmp_path):
    ended = scale("replica", "counters", seconds=360)
    lines = dict(re.split(r" {2,}", line, maxsplit=1) for line in ended.stdout.strip().splitlines())
    assert lines["streaming replica of PostgreSQL"] == "works", ended
    assert "REDIS_COUNTERS_URL has to be one server" in lines["Redis Cluster for the counters"]
    assert ended.returncode == 0
    assert left() == []


def test_an_engine_that_is_not_to_be_had_says_why(tmp_path):
    def engine(_services, _directory):
        raise NotToBeHad("no such program")

    common: Any = SimpleNamespace(services=None, directory=tmp_path)
    steps = []
    assert verdict("other", engine, common, steps.append) == "not available: no such program"
    assert steps == ["start"]


@pytest.mark.parametrize(
    ("said", "has_it"),
    [
        ("# Failed finding TLS support.", False),
        ("*** FATAL CONFIG FILE ERROR ***\nBad directive or wrong number of arguments", False),
        ("# Failed to configure TLS. Check logs for more info.", True),
    ],
)
def test_a_redis_without_tls_is_not_to_be_had(tmp_path, said, has_it):
    program = tmp_path / "redis-server"
    program.write_text(f"#!/bin/sh\ncat <<END\n{said}\nEND\nexit 1\n")
    program.chmod(0o755)
    assert has_tls(program) == has_it
    if not has_it:
        with pytest.raises(NotToBeHad, match="this redis-server was built without TLS"):
            RedisWithTls(tmp_path, program, make_certificates(tmp_path))


def left():
    """Processes whose files are of such a run."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if "feedsite-scale-" in line]


def test_help_and_names(capsys):
    assert "examples:" in scale("--help").stdout
    names = [line.split()[0] for line in scale("--list").stdout.splitlines()]
    assert names == list(ENGINES)
    unknown = scale("replika")
    assert unknown.returncode == 2
    assert "unknown engine 'replika'" in unknown.stderr


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_has_a_title_that_fits_its_column(name):
    assert len(ENGINES[name][0]) < 50
