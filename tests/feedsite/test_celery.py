"""The processes of a worker."""

from pathlib import Path

import pytest

from feedcache.servers import topology_listener
from tests.support.processes import start_worker, stop
from tests.support.waiting import wait_until

pytestmark = pytest.mark.flows


def test_the_process_that_forks_has_no_thread_that_may_hold_a_lock(transactional_db, tmp_path):
    worker = start_worker(tmp_path)
    try:
        wait_until(children_of_workers, "the worker's child reports")
        assert worker.pid not in children_of_workers()
        assert len(list(Path(f"/proc/{worker.pid}/task").iterdir())) == 1
    finally:
        stop(worker)


def children_of_workers():
    """The pids of those that report as a worker."""
    reports = topology_listener.processes()
    return {int(report.name.rpartition(":")[2]) for report in reports if report.role == "worker"}
