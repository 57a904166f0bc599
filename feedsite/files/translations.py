"""Compiles the translations (`.po`, kept in the repository) to the form that gettext reads (`.mo`)."""

import tempfile
from pathlib import Path

import polib
from django.conf import settings


def compile_changed() -> None:
    """Write each `.mo` that is missing or older than its source. Raises OSError if the folder is read-only."""
    for folder in settings.LOCALE_PATHS:
        for source in Path(folder).glob("*/LC_MESSAGES/*.po"):
            compiled = source.with_suffix(".mo")
            if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
                _compile(source, compiled)


def _compile(source: Path, compiled: Path) -> None:
    """Write a file atomically, because many processes may start at the same time."""
    with tempfile.TemporaryDirectory(dir=compiled.parent) as directory:
        made = Path(directory) / compiled.name
        polib.pofile(str(source), encoding="utf-8").save_as_mofile(str(made))
        made.chmod(source.stat().st_mode)
        made.replace(compiled)
