import pytest

from tools.house.lines import Lines, count_files, count_lines, python_files

pytestmark = pytest.mark.long

MODULE = '''"""What it is.

And more.
"""

import os
from pathlib import (
    Path,
)

# why
SQL = """
SELECT 1

# not a comment
"""


class Box:
    """A box."""

    def open(self):  # now
        """Open it."""
        return os, Path
'''


def test_every_line_is_of_one_kind():
    found = count_lines(MODULE)
    assert found == Lines(code=8, imports=4, docstrings=6, comments=1, blank=5)
    assert found.total == len(MODULE.splitlines())


def test_lines_add_up():
    assert Lines(code=1, blank=2) + Lines(code=3, comments=4) == Lines(code=4, blank=2, comments=4)


def test_migrations_are_apart_and_generated_files_are_nobodys(tmp_path):
    for name in ("models.py", "wire_pb2.py", "migrations/0001_initial.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("a = 1\n")
    assert [path.name for path in python_files(tmp_path)] == ["models.py"]
    assert [path.name for path in python_files(tmp_path, migrations=True)] == ["0001_initial.py"]
    assert count_files(python_files(tmp_path)) == Lines(code=1)
