"""Two pseudo-languages: every text of the catalogue with accents, and a third longer.

In the first, pages show which texts bypass gettext, and which layouts break when words are long. In the second, which
is written from right to left, they show which parts are not mirrored.
"""

import re
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

LONG, MIRRORED = "en-xa", "ar-xb"
LOCALES = {LONG: "en_XA", MIRRORED: "ar_XB"}
PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
ACCENTED = "áƀçðéƒĝĥíĵķļɱñóþɋŕšţúṽŵẋýžÁƁÇÐÉƑĜĤÍĴĶĻṀÑÓÞɊŔŠŢÚṼŴẊÝŽ"
_ACCENTS = str.maketrans(PLAIN, ACCENTED)
_KEPT = re.compile(r"(%\(\w+\)[sd]|%[sd]|<[^>]+>|&\w+;|\{\w*\})")  # placeholders, markup
LONGER = 0.35


def pseudo(text: str) -> str:
    """A text with accents and padding: `[Ŕéþļý ~~]` for `Reply`."""
    parts = _KEPT.split(text)
    said = "".join(
        part if number % 2 else part.translate(_ACCENTS) for number, part in enumerate(parts)
    )
    words = sum(len(part) for part in parts[::2])
    padding = " ~" * round(words * LONGER / 2)
    return f"[{said}{padding}]"


def write_catalogues(source: Path, directory: Path) -> None:
    """Compile both languages for Django, from the texts of a catalogue."""
    with source.open("rb") as file:
        texts = [message for message in read_po(file) if message.id]
    for locale in LOCALES.values():
        catalogue = Catalog(locale=locale.partition("_")[0])
        for message in texts:
            if isinstance(message.id, str):
                catalogue.add(message.id, pseudo(message.id), context=message.context)
            else:
                forms = (
                    pseudo(message.id[0]),
                    *[pseudo(message.id[1])] * (catalogue.num_plurals - 1),
                )
                catalogue.add(message.id, forms, context=message.context)
        place = directory / locale / "LC_MESSAGES" / "django.mo"
        place.parent.mkdir(parents=True)
        with place.open("wb") as file:
            write_mo(file, catalogue)
