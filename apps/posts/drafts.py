"""What an author asks to publish, and the rules it must keep. Nothing is written here."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.core.files.base import File
from django.utils.translation import gettext as _

from apps.posts.models import Visibility
from apps.posts.text import (
    MAX_MENTIONS,
    MAX_TAGS,
    RAW_MAX_CHARACTERS,
    length,
    mentioned_handles,
    normalise,
    tags,
)
from apps.refusals import Invalid

MAX_PICTURES = 4
CONTENT_WARNING_MAX_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class NewPicture:
    """A picture to attach: a file ready to be served, its size in pixels, its description."""

    file: "File[bytes]"
    width: int
    height: int
    alt: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """What an author asks to publish; checked before anything is written."""

    body: str
    visibility: str = Visibility.PUBLIC
    reply_to_id: int | None = None
    quote_of_id: int | None = None
    content_warning: str = ""
    language: str = ""
    pictures: Sequence[NewPicture] = ()
    circle_id: int | None = None
    sensitive: bool = False


def checked_body(text: str, *, required: bool) -> str:
    """The text in the form that is stored; Invalid when it is empty though required, or too long."""
    if len(text) > RAW_MAX_CHARACTERS:
        raise invalid("status", _("The text is too long."), "too_long")
    body = normalise(text)
    if required and not _has_ink(body):
        raise invalid("status", _("Write something first."), "blank")
    most = settings.POST_MAX_CHARACTERS
    if length(body) > most:
        raise invalid("status", _("At most %(count)d characters.") % {"count": most}, "too_long")
    if len(mentioned_handles(body)) > MAX_MENTIONS or len(tags(body)) > MAX_TAGS:
        raise invalid("status", _("Too many mentions or tags."), "too_many_entities")
    return body


def check_labels(visibility: str, content_warning: str, pictures: int) -> None:
    """Invalid when the visibility is unknown, the warning too long or the pictures too many."""
    if visibility not in Visibility.values:
        raise invalid("visibility", _("Unknown visibility."), "unknown")
    if len(content_warning) > CONTENT_WARNING_MAX_CHARACTERS:
        message = _("At most %(count)d characters.") % {"count": CONTENT_WARNING_MAX_CHARACTERS}
        raise invalid("spoiler_text", message, "too_long")
    if pictures > MAX_PICTURES:
        raise invalid(
            "media_ids", _("At most %(count)d pictures.") % {"count": MAX_PICTURES}, "too_many"
        )


def _has_ink(text: str) -> bool:
    return any(unicodedata.category(character)[0] not in "CZ" for character in text)


def invalid(name: str, message: str, code: str) -> Invalid:
    """A refusal that names the field it is about."""
    return Invalid(message, code=code, errors={name: message})
