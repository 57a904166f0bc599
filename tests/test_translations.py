"""Every text that people see is in the Chinese catalogue, translated, with the same placeholders."""

import re
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.extract import DEFAULT_KEYWORDS, extract_python
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "locale/zh_Hans/LC_MESSAGES"
KEYWORDS: dict[str, Any] = {
    **DEFAULT_KEYWORDS,
    "gettext_lazy": None,
    "ngettext_lazy": (1, 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext_lazy": ((1, "c"), 2, 3),
    "gettext_noop": None,
}
CONTEXT_FIRST = {name for name, spec in KEYWORDS.items() if spec and isinstance(spec[0], tuple)}
PLACEHOLDER = re.compile(r"%\(\w+\)|%[sd]|\{\w+\}")


def catalogue():
    with (FOLDER / "django.po").open("rb") as file:
        return read_po(file)


def texts_of(source):
    """(context, text) of every call of gettext in Python code."""
    calls: Any = extract_python(BytesIO(source.encode()), KEYWORDS, [], {})  # as UTF-8
    for _line, function, messages, _comments in calls:
        given = messages if isinstance(messages, tuple) else (messages,)
        context, given = (given[0], given[1:]) if function in CONTEXT_FIRST else (None, given)
        if given and given[0]:
            yield context, given[0]


def sources():
    for path in sorted(ROOT.glob("templates/**/*.*")):
        lines = templatize(path.read_text()).splitlines()
        yield path, "\n".join(line.strip() for line in lines)  # no Python: its indents mean nothing
    for folder in ("apps", "feedsite"):
        for path in sorted(ROOT.glob(f"{folder}/**/*.py")):
            yield path, path.read_text()


def test_no_text_is_missing_in_the_catalogue():
    known = {(message.context, _one(message)) for message in catalogue()}
    missing = {
        f"{path.relative_to(ROOT)}: {text!r} ({context})"
        for path, source in sources()
        for context, text in texts_of(source)
        if (context, text) not in known
    }
    assert sorted(missing) == []


def test_no_translation_is_missing_or_uncertain():
    unsure = [message.id for message in catalogue() if message.id and message.fuzzy]
    empty = [message.id for message in catalogue() if message.id and not all(_all(message.string))]
    assert (unsure, empty) == ([], [])


def test_translations_have_the_placeholders_of_their_texts():
    wrong = [
        message.id
        for message in catalogue()
        if message.id
        for translation in _all(message.string)
        if not _names(translation) <= {name for text in _all(message.id) for name in _names(text)}
        or (isinstance(message.id, str) and _names(translation) != _names(message.id))
    ]
    assert wrong == []


def test_the_compiled_catalogue_is_that_of_the_texts():
    with (FOLDER / "django.mo").open("rb") as file:
        compiled = {
            (_context(one), _one(one)): tuple(_all(one.string)) for one in read_mo(file) if one.id
        }
    assert compiled == {
        (_context(one), _one(one)): tuple(_all(one.string)) for one in catalogue() if one.id
    }


def test_the_search_for_texts_finds_them():
    found = {text for _path, source in sources() for _context, text in texts_of(source)}
    assert {"Post", "Reply", "Log in", "You're all caught up."} <= found


def _one(message):
    return message.id if isinstance(message.id, str) else message.id[0]


def _all(texts):
    return texts if isinstance(texts, tuple | list) else (texts,)


def _names(text):
    return set(PLACEHOLDER.findall(text))


def _context(message):
    return message.context.decode() if isinstance(message.context, bytes) else message.context
