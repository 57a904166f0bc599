"""The texts of the user interface, and the catalogues with their translations.

`--write` updates each catalogue with the texts of the code, in a canonical form: sorted by text, one text per line,
without source references. So a change of one text changes one entry. Without it, problems are printed.
"""

import ast
import re
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import polib
from babel.messages.extract import extract_python
from django.utils.translation.template import templatize

from runner.checkout import ROOT

CATALOGUES = sorted(ROOT.glob("locale/*/LC_MESSAGES/*.po"))
ADVICE = "`make messages` adds the texts of the code to the catalogue; then fill in each empty msgstr there."
DROPPED_HEADERS = ("POT-Creation-Date", "PO-Revision-Date", "Report-Msgid-Bugs-To")
# The positions of context, text and plural in gettext's functions, as Babel counts.
_TEXT, _PLURAL = (1,), (1, 2)
_CONTEXT, _CONTEXT_PLURAL = ((1, "c"), 2), ((1, "c"), 2, 3)
KEYWORDS: dict[str, Any] = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), _TEXT),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), _PLURAL),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), _CONTEXT),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), _CONTEXT_PLURAL),
}
PLACEHOLDER = re.compile(r"%\(\w+\)|%[sd]|\{\w+\}")
_FORMAT = "python-format"


class Text(NamedTuple):
    """A text passed to gettext; `context` and `plural` are empty if there are none."""

    context: str
    text: str
    plural: str


def texts_of_code() -> dict[Text, Path]:
    """Every text, with the first file that has it."""
    found: dict[Text, Path] = {}
    for path in sorted(ROOT.glob("templates/**/*.*")):
        for text in of_template(path.read_text()):
            found.setdefault(text, path)
    for path in sorted([*ROOT.glob("apps/**/*.py"), *ROOT.glob("feedsite/**/*.py")]):
        for text in of_python(path.read_text()):
            found.setdefault(text, path)
    return found


def of_python(source: str) -> Iterator[Text]:
    """The texts in calls of gettext, including those inside f-strings."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name: str = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
            values = [getattr(argument, "value", None) for argument in node.args]
            yield from _called(name, values)


def of_template(source: str) -> Iterator[Text]:
    # as Django's makemessages reads it: the result is not valid Python, and its indentation has no meaning
    lines = "\n".join(line.strip() for line in templatize(source).splitlines())
    calls: Any = extract_python(BytesIO(lines.encode()), KEYWORDS, [], {})
    for _line, name, values, _comments in calls:
        yield from _called(name, values if isinstance(values, tuple) else (values,))


def _called(name: str, values: Any) -> Iterator[Text]:
    places = KEYWORDS.get(name, ())
    given = [value if isinstance(value, str) else "" for value in values[: len(places)]]
    if len(given) == len(places) and places:
        context = given.pop(0) if isinstance(places[0], tuple) else ""
        if given[0]:
            yield Text(context, given[0], given[1] if len(given) > 1 else "")


def entry_text(entry: polib.POEntry) -> Text:
    return Text(entry.msgctxt or "", entry.msgid, entry.msgid_plural or "")


def updated(catalogue: polib.POFile, texts: set[Text]) -> polib.POFile:
    """The catalogue with exactly these texts, in canonical form; translations and comments are kept."""
    known = {entry_text(entry): entry for entry in catalogue if not entry.obsolete}
    result = polib.POFile(wrapwidth=0)
    result.header = catalogue.header
    result.metadata = {
        name: value for name, value in catalogue.metadata.items() if name not in DROPPED_HEADERS
    }
    forms = int(re.findall(r"nplurals=(\d+)", catalogue.metadata["Plural-Forms"])[0])
    for text in sorted(texts, key=lambda one: (one.text, one.context, one.plural)):
        result.append(_entry(text, known.get(text), forms))
    return result


def _entry(text: Text, known: polib.POEntry | None, forms: int) -> polib.POEntry:
    flags = {flag for flag in (known.flags if known else []) if flag != _FORMAT}
    if re.search(r"%\(|%[sd]", text.text) and f"no-{_FORMAT}" not in flags:
        flags.add(_FORMAT)
    entry = polib.POEntry(
        msgctxt=text.context or None,
        msgid=text.text,
        msgid_plural=text.plural,
        msgstr=known.msgstr if known else "",
        comment=known.comment if known else "",
        tcomment=known.tcomment if known else "",
        flags=sorted(flags),
    )
    if text.plural:
        entry.msgstr_plural = known.msgstr_plural if known else dict.fromkeys(range(forms), "")
    return entry


def problems(path: Path, texts: dict[Text, Path]) -> Iterator[str]:
    """The problems of a catalogue, one line each."""
    catalogue = read(path)
    known = {entry_text(entry) for entry in catalogue}
    for text in sorted(set(texts) - known):
        yield f"{texts[text].relative_to(ROOT)}: {text.text!r} is not in {path.relative_to(ROOT)}"
    for entry in catalogue:
        if entry_text(entry) in texts and not all(translations(entry)):
            yield f"{entry.msgid!r} has no translation"
        elif entry.fuzzy:
            yield f"{entry.msgid!r} has a translation that is only guessed (fuzzy)"
        elif has_other_places(entry):
            yield f"{entry.msgid!r} and its translation have different placeholders"
    if str(updated(catalogue, set(texts))) != path.read_text():
        yield f"{path.relative_to(ROOT)} is not in order"


def has_other_places(entry: polib.POEntry) -> bool:
    """Whether a translation has a placeholder that its text lacks, or leaves one out."""
    named = [set(PLACEHOLDER.findall(translation)) for translation in translations(entry)]
    allowed = set(PLACEHOLDER.findall(entry.msgid + entry.msgid_plural))
    if entry.msgid_plural:  # one form may do without the number
        return not all(names <= allowed for names in named)
    return named != [allowed]


def translations(entry: polib.POEntry) -> list[str]:
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


def read(path: Path) -> polib.POFile:
    return polib.pofile(str(path), encoding="utf-8", wrapwidth=0)


def main(arguments: list[str]) -> int:
    texts = texts_of_code()
    found: list[str] = []
    for path in CATALOGUES:
        if arguments == ["--write"]:
            path.write_text(str(updated(read(path), set(texts))))
        else:
            found += problems(path, texts)
    sys.stdout.writelines(f"{line}\n" for line in [*found, *([ADVICE] if found else [])])
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
