"""Every static file that the code or a template names exists: a missing one is a 500 once files have hashed names."""

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

ROOT = Path(__file__).resolve().parent.parent
NAMED = re.compile(r"""(?:static\(|\{%\s*static\s+)["']([^"'{]+)["']""")


def named_files():
    sources = [
        *ROOT.glob("apps/**/*.py"),
        *ROOT.glob("feedsite/**/*.py"),
        *ROOT.glob("templates/**/*.html"),
    ]
    return sorted({name for source in sources for name in NAMED.findall(source.read_text())})


def test_files_are_named_at_all():
    assert len(named_files()) > 3


@pytest.mark.parametrize("name", named_files())
def test_a_named_static_file_exists(name):
    assert finders.find(name) is not None
