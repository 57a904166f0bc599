"""The texts of the code, and what is said and done about a catalogue."""

import polib
import pytest

from tools.lint import translations
from tools.lint.translations import Text, of_python, of_template, problems, read, updated

HEAD = 'msgid ""\nmsgstr ""\n"Language: pl\\n"\n"Plural-Forms: nplurals=3; plural=0;\\n"\n\n'


def test_every_way_to_call_gettext_is_found():
    source = """
_("plain")
gettext_lazy("in " "parts")
models.ngettext("%(n)d post", "%(n)d posts", n)
pgettext("of a page", "home")
npgettext_lazy("count", "like", "likes", n)
f"{_('inside')}: {name}"
_(variable)
other("no text")
"""
    assert list(of_python(source)) == [
        Text("", "plain", ""),
        Text("", "in parts", ""),
        Text("", "%(n)d post", "%(n)d posts"),
        Text("of a page", "home", ""),
        Text("count", "like", "likes"),
        Text("", "inside", ""),
    ]


def test_texts_of_templates_are_found():
    source = """
    {% load i18n %}<p title="{% translate 'Close' %}">{% translate "none" context "compared" %}
      {% blocktranslate with handle=person.handle %}Mute @{{ handle }}{% endblocktranslate %}</p>
    {% blocktranslate count n=size context "list" trimmed %}
      {{ n }} person
    {% plural %}
      {{ n }} people
    {% endblocktranslate %}{{ _("Yes") }} not this
    """
    assert set(of_template(source)) == {
        Text("", "Close", ""),
        Text("compared", "none", ""),
        Text("", "Mute @%(handle)s", ""),
        Text("list", "%(n)s person", "%(n)s people"),
        Text("", "Yes", ""),
    }


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    """`catalogue(entries)`: a file with them, read again after `make messages` with these texts."""
    monkeypatch.setattr(translations, "ROOT", tmp_path)

    def write(entries):
        path = tmp_path / "django.po"
        path.write_text(HEAD + entries)
        return path

    return write


OLD = """#, fuzzy, python-format
#: apps/posts/models.py:7
msgid "%(n)s post"
msgid_plural "%(n)s posts"
msgstr[0] "%(n)s wpis"
msgstr[1] "%(n)s wpisy"
msgstr[2] "%(n)s wpisów"

# of a menu
msgid "Back"
msgstr "Wstecz"

msgid "gone"
msgstr "nie ma"
"""
TEXTS = {Text("", "%(n)s post", "%(n)s posts"), Text("", "Back", ""), Text("page", "About\nus", "")}


def test_a_catalogue_gets_the_texts_of_the_code_and_keeps_translations(catalogue):
    assert str(updated(read(catalogue(OLD)), TEXTS)).partition("\n\n")[2] == (
        '#, fuzzy, python-format\nmsgid "%(n)s post"\nmsgid_plural "%(n)s posts"\n'
        'msgstr[0] "%(n)s wpis"\nmsgstr[1] "%(n)s wpisy"\nmsgstr[2] "%(n)s wpisów"\n\n'
        'msgctxt "page"\nmsgid ""\n"About\\n"\n"us"\nmsgstr ""\n\n'
        '# of a menu\nmsgid "Back"\nmsgstr "Wstecz"\n'
    )


def test_written_twice_it_is_the_same(catalogue):
    path = catalogue(OLD)
    once = str(updated(read(path), TEXTS))
    path.write_text(once)
    assert str(updated(read(path), TEXTS)) == once


def test_what_is_wrong_is_said(catalogue, tmp_path):
    texts = dict.fromkeys(TEXTS, tmp_path / "templates/about.html")
    assert list(problems(catalogue(OLD), texts)) == [
        "templates/about.html: 'About\\nus' is not in django.po",
        "'%(n)s post' has a translation that is only guessed (fuzzy)",
        "django.po is not in order",
    ]
    ordered = catalogue(OLD)
    ordered.write_text(
        str(updated(read(ordered), TEXTS)).replace(", fuzzy", "#").replace("#,#", "#")
    )
    assert "'About\\nus' has no translation" in list(problems(ordered, texts))


@pytest.mark.parametrize(
    ("text", "plural", "translation", "is_wrong"),
    [
        ("{name} of %(n)d", "", "%(n)d {name}", False),
        ("%(n)d of all", "", "all", True),
        ("all", "", "%(n)d of all", True),
        ("%(n)d post", "%(n)d posts", "one", False),
        ("%(n)d post", "%(n)d posts", "%(m)d", True),
    ],
)
def test_a_translation_has_the_places_of_its_text(text, plural, translation, is_wrong):
    entry = polib.POEntry(msgid=text, msgid_plural=plural, msgstr=translation)
    if plural:
        entry.msgstr_plural = {0: translation}
    assert translations.has_other_places(entry) == is_wrong
