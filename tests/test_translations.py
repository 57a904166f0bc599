"""Every text that people see is in the Chinese catalogue, translated, with the same placeholders."""

import os

import polib
import pytest
from django.utils import translation

from feedsite.files.translations import compile_changed
from tools.lint import translations

SOURCE = """
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\nPlural-Forms: nplurals=1; plural=0;\\n"

msgid "Post"
msgstr "{}"
"""


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("path", translations.CATALOGUES, ids=lambda path: path.parts[-3])
def test_nothing_is_wrong_with_a_catalogue(path):
    found = list(translations.problems(path, translations.texts_of_code()))
    assert found == [], translations.ADVICE


def test_pages_speak_it():
    with translation.override("zh-hans"):
        assert translation.gettext("You're all caught up.") != "You're all caught up."


@pytest.fixture
def source(tmp_path, settings):
    """A catalogue of the test's own, with nothing compiled."""
    settings.LOCALE_PATHS = [tmp_path]
    path = tmp_path / "zh_Hans/LC_MESSAGES/django.po"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE.format("发帖"))
    return path


def compiled(source):
    return [entry.msgstr for entry in polib.mofile(str(source.with_suffix(".mo")))]


def test_a_catalogue_is_compiled_when_it_is_new_or_has_changed(source):
    compile_changed()
    assert compiled(source) == ["发帖"]
    assert [path.name for path in sorted(source.parent.iterdir())] == ["django.mo", "django.po"]
    source.write_text(SOURCE.format("发布"))
    later = source.with_suffix(".mo").stat().st_mtime + 1
    os.utime(source, (later, later))
    compile_changed()
    assert compiled(source) == ["发布"]


def test_what_is_compiled_is_left_alone(source):
    compile_changed()
    before = source.with_suffix(".mo").stat()
    compile_changed()
    assert source.with_suffix(".mo").stat() == before
