"""Tests on Citus: a distributed database beside the plain one, made once per run.

`FEEDSITE_TESTS_ON=citus ./run test tests/graph` runs any tests on it. CITUS_URL names the coordinator of an existing
cluster with an empty database; without it, a cluster is started on loopback, for which Citus must be installed.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from django.db import connection, connections

from feedsite.environment import Environment
from runner.checkout import MANAGE, ROOT
from tools.scale import NotToBeHad
from tools.scale.citus import Cluster, cluster

ALL_TESTS = "FEEDSITE_TESTS_ON"
started: list[Cluster] = []  # the clusters that this process has started


def takes_all_tests() -> bool:
    return os.environ.get(ALL_TESTS) == "citus"


def start(undo: ExitStack, directory: Path) -> str:
    """The URL of a distributed database with the site's tables, without rows. NotToBeHad."""
    url = os.environ.get("CITUS_URL", "")
    if not url:
        servers: Cluster = undo.enter_context(cluster(directory / "citus"))
        started.append(servers)
        url = servers.coordinator.url
    for command in ("migrate", "distribute"):
        manage(url, command, "--verbosity", "0")
    return url


def manage(url: str, *words: str) -> str:
    """The output of a management command on this database, standard error included."""
    result = subprocess.run(
        [sys.executable, "-P", str(MANAGE), *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), "DATABASE_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


@contextmanager
def connected(url: str) -> Iterator[None]:
    """Within this context, all queries of this process go to the database at `url`."""
    usual = connection.settings_dict
    given = Environment.db_url_config(url)
    _leave()
    connection.settings_dict = {
        **usual,
        **given,
        "ENGINE": usual["ENGINE"],
        "OPTIONS": usual["OPTIONS"],
    }
    try:
        yield
    finally:
        _leave()
        connection.settings_dict = usual


def _leave() -> None:
    connection.close()
    connections["default"].close_pool()


def start_or_refuse(undo: ExitStack, directory: Path) -> str:
    try:
        return start(undo, directory)
    except NotToBeHad as error:
        raise pytest.UsageError(f"{ALL_TESTS}=citus: {error}") from None
