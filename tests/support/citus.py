"""The site of the tests on Citus: a distributed database beside the plain one, made once per run.

`FEEDSITE_TESTS_ON=citus ./run test tests/graph` runs any tests on it. CITUS_URL names the coordinator of a cluster that
is there already, with an empty database; else one is started on loopback, and there is none without the programs.
"""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from runner.checkout import MANAGE, ROOT
from tools.scale import NotToBeHad
from tools.scale.citus import Cluster, cluster

ALL_TESTS = "FEEDSITE_TESTS_ON"


def takes_all_tests() -> bool:
    return os.environ.get(ALL_TESTS) == "citus"


def start(undo: ExitStack, directory: Path) -> str:
    """The URL of a distributed site without rows. NotToBeHad."""
    url = os.environ.get("CITUS_URL", "")
    if not url:
        servers: Cluster = undo.enter_context(cluster(directory / "citus"))
        url = servers.coordinator.url
    for command in ("migrate", "distribute"):
        manage(url, command, "--verbosity", "0")
    return url


def manage(url: str, *words: str) -> str:
    """What a command says on a site with this database; with its errors."""
    result = subprocess.run(
        [sys.executable, "-P", str(MANAGE), *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), "DATABASE_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


def start_or_refuse(undo: ExitStack, directory: Path) -> str:
    try:
        return start(undo, directory)
    except NotToBeHad as error:
        raise pytest.UsageError(f"{ALL_TESTS}=citus: {error}") from None
