"""Places for data directories whose sockets fit."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.datadir import DataDir


@pytest.fixture
def place() -> Iterator[Path]:
    """A short path: pytest's own temporary directories are too long for sockets."""
    directory = Path(tempfile.mkdtemp(prefix="fs-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def data(place: Path) -> DataDir:
    """A prepared data directory."""
    made = DataDir(place / "data")
    made.prepare()
    return made
