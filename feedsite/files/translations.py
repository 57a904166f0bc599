"""Compiles the catalogues of translations: kept as text (`.po`), read by gettext in another form (`.mo`)."""

import tempfile
from pathlib import Path

import polib
from django.conf import settings


def compile_changed() -> None:
    """Write each `.mo` that is missing or older than its source. OSError where that is not allowed."""
    for folder in settings.LOCALE_PATHS:
        for source in Path(folder).glob("*/LC_MESSAGES/*.po"):
            compiled = source.with_suffix(".mo")
            if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
                _compile(source, compiled)


def _compile(source: Path, compiled: Path) -> None:
    """Many processes may start at once: each sees a whole file."""
    with tempfile.TemporaryDirectory(dir=compiled.parent) as directory:
        made = Path(directory) / compiled.name
        polib.pofile(str(source), encoding="utf-8").save_as_mofile(str(made))
        made.chmod(source.stat().st_mode)
        made.replace(compiled)
