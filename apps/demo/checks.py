"""Looks for slips in the written part of the demo: unknown people, texts that the site would refuse, dead keys."""

import re
from collections.abc import Iterable, Iterator
from string import Formatter

from django.conf import settings

from apps.accounts.models import (
    BIO_MAX_CHARACTERS,
    HANDLE_PATTERN,
    NAME_MAX_CHARACTERS,
    RESERVED_HANDLES,
)
from apps.demo.parts import HOURS, LANGUAGES, Caption, Library, LibraryError, Line, Pattern, Person
from apps.demo.pictures import SCENES, SHAPES, Sketch
from apps.posts.drafts import CONTENT_WARNING_MAX_CHARACTERS, MAX_PICTURES
from apps.posts.models import Visibility
from apps.posts.text import length, mentioned_handles, normalise

_HANDLE = re.compile(HANDLE_PATTERN, re.ASCII)


def check(library: Library) -> None:
    """LibraryError, with every slip in its message, if there are any."""
    if slips := list(_slips(library)):
        raise LibraryError("\n".join(slips))


def _slips(library: Library) -> Iterator[str]:
    keys = [line.key for line in library.lines if line.key]
    yield from (
        f"the key {key!r} is used twice"
        for key in sorted({key for key in keys if keys.count(key) > 1})
    )
    for person in library.people.values():
        yield from (f"@{person.handle}: {slip}" for slip in _in_person(person, library, set(keys)))
    replies = [
        reply.line for conversation in library.conversations for reply in conversation.replies
    ]
    for line in [*library.lines, *replies]:
        yield from (
            f"@{line.by}, {line.text[:24]!r}: {slip}" for slip in _in_line(line, library, set(keys))
        )
    yield from _in_conversations(library, set(keys))
    for language in LANGUAGES:
        yield from (
            f"{text[:24]!r}: too long" for text in library.passages[language] if not _fits(text)
        )
        for pattern in library.patterns[language]:
            yield from _in_pattern(pattern)
    for caption in library.captions:
        yield from _in_caption(caption)


def _in_person(person: Person, library: Library, keys: set[str]) -> Iterator[str]:
    if not _HANDLE.fullmatch(person.handle) or (
        person.handle in RESERVED_HANDLES and not person.staff
    ):
        yield "not a handle"
    if not 0 < len(person.name) <= NAME_MAX_CHARACTERS:
        yield "the name is empty or too long"
    if len(person.bio) > BIO_MAX_CHARACTERS:
        yield "the bio is too long"
    if person.language not in LANGUAGES:
        yield f"unknown language {person.language!r}"
    if person.avatar:
        yield from _in_sketch(person.avatar.sketch)
    yield from (
        f"follows unknown @{handle}" for handle in person.follows if handle not in library.people
    )
    if person.handle in person.follows:
        yield "follows itself"
    yield from (
        f"unknown key {key!r}" for key in (*person.likes, *person.bookmarks) if key not in keys
    )


def _in_line(line: Line, library: Library, keys: set[str]) -> Iterator[str]:
    if line.by not in library.people:
        yield "unknown author"
    if not line.is_repost:
        yield from _in_text(line, library)
    if line.source and line.source not in keys:
        yield f"unknown source {line.source!r}"
    if line.hour and line.hour not in HOURS:
        yield f"unknown hour {line.hour!r}"
    yield from _in_labels(line)


def _in_labels(line: Line) -> Iterator[str]:
    if line.visibility not in Visibility.values:
        yield f"unknown visibility {line.visibility!r}"
    if len(line.warning) > CONTENT_WARNING_MAX_CHARACTERS:
        yield "the warning is too long"
    if len(line.pictures) > MAX_PICTURES:
        yield "too many pictures"
    for picture in line.pictures:
        yield from _in_sketch(picture.sketch)
        if not picture.alt:
            yield "a picture without a description"


def _in_text(line: Line, library: Library) -> Iterator[str]:
    if line.language not in LANGUAGES:
        yield f"unknown language {line.language!r}"
    if not line.text or line.text != normalise(line.text):
        yield "the text is empty or not in its stored form"
    if not _fits(line.text):
        yield f"{length(line.text)} characters are too long"
    handles = mentioned_handles(line.text)
    yield from (f"mentions unknown @{handle}" for handle in handles if handle not in library.people)


def _in_sketch(sketch: Sketch) -> Iterator[str]:
    if sketch.scene not in SCENES:
        yield f"unknown scene {sketch.scene!r}"
    if sketch.shape not in SHAPES:
        yield f"unknown shape {sketch.shape!r}"


def _in_conversations(library: Library, keys: set[str]) -> Iterator[str]:
    for conversation in library.conversations:
        if conversation.under not in keys:
            yield f"a conversation under unknown {conversation.under!r}"
        for number, reply in enumerate(conversation.replies):
            if not 0 <= reply.to <= number:
                yield f"{reply.line.text[:24]!r} answers a later reply"


def _in_pattern(pattern: Pattern) -> Iterator[str]:
    named = {name for _text, name, _spec, _conversion in Formatter().parse(pattern.frame) if name}
    if named != set(pattern.slots):
        yield f"{pattern.frame!r}: slots and frame do not agree"
    elif not _fits(
        pattern.frame.format(**{name: max(words, key=len) for name, words in pattern.slots.items()})
    ):
        yield f"{pattern.frame!r}: can become too long"


def _in_caption(caption: Caption) -> Iterable[str]:
    yield from _in_sketch(Sketch(caption.scene))
    texts = [text for lines in caption.lines.values() for text in lines]
    yield from (f"{text[:24]!r}: too long" for text in texts if not _fits(text))


def _fits(text: str) -> bool:
    most: int = settings.POST_MAX_CHARACTERS
    return length(text) <= most
