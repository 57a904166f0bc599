"""Fixtures of the flows."""

import pytest

from tests.flows.processes import start_worker, stop


@pytest.fixture
def worker(transactional_db, tmp_path):
    """A Celery worker with beat, in processes of its own; stopped by its own pid."""
    process = start_worker(tmp_path)
    yield process
    stop(process)
