"""What an author asks to publish, and the rules it must keep. Nothing is written here."""

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from django.conf import settings
from django.core.files.base import File
from django.utils.translation import gettext as _

from apps.errors import Invalid
from apps.posts.content.text import (
    MAX_MENTIONS,
    MAX_TAGS,
    RAW_MAX_CHARACTERS,
    length,
    mentioned_handles,
    normalise,
    tags,
)
from apps.posts.models import QuotePolicy, Visibility

MAX_PICTURES = 4
ALT_MAX_CHARACTERS = 1500  # of a picture's description
CONTENT_WARNING_MAX_CHARACTERS = 200
Focus = tuple[float, float]  # what of a picture must stay in sight: from -1 (left, bottom) to 1
POLL_OPTIONS = (2, 4)  # how many
POLL_OPTION_MAX_CHARACTERS = 50
POLL_SECONDS = (300, 2_678_400)  # how long it is open


@dataclass(frozen=True, slots=True)
class NewPicture:
    """A picture to attach: a file ready to be served, its size in pixels, its description."""

    file: "File[bytes]"
    width: int
    height: int
    alt: str = ""


@dataclass(frozen=True, slots=True)
class PictureChange:
    """What an edit changes of one of the post's pictures; None: nothing."""

    id: int
    alt: str | None = None
    focus: Focus | None = None

    def values(self) -> dict[str, Any]:
        """The columns that change."""
        values: dict[str, Any] = {} if self.alt is None else {"alt": self.alt}
        if self.focus is not None:
            values |= {"focus_x": self.focus[0], "focus_y": self.focus[1]}
        return values


@dataclass(frozen=True, slots=True)
class PollDraft:
    """A poll to ask: 2 to 4 options of up to 50 characters, open for 5 minutes to a month."""

    options: Sequence[str]
    seconds: int
    multiple: bool = False
    hide_totals: bool = False


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
    media_ids: Sequence[int] = ()  # pictures that the author uploaded before
    poll: PollDraft | None = None
    quote_policy: str = QuotePolicy.PUBLIC
    allowed_mentions: Sequence[int] | None = None  # who may be named in the text; None: anybody
    application: str = ""  # the program it is written with, and where to get that
    website: str = ""

    def with_pictures(self, media_ids: Sequence[int]) -> "Draft":
        """The same with pictures that the author uploaded before."""
        return replace(self, media_ids=tuple(media_ids))

    @classmethod
    def restored(cls, kept: dict[str, Any]) -> "Draft":
        """From what a scheduled post keeps; fields that a later release adds have their defaults."""
        poll = kept.get("poll")
        return cls(**{**kept, "poll": PollDraft(**poll) if poll else None})


def checked_body(text: str, *, required: bool) -> str:
    """The text in the form that is stored; Invalid when it is empty though required, or too long."""
    if len(text) > RAW_MAX_CHARACTERS:
        raise invalid("status", _("The text is too long."), "too_long")
    body = normalise(text)
    if required and not _has_ink(body):
        raise invalid("status", _("Write something first."), "blank")
    maximum = settings.POST_MAX_CHARACTERS
    if length(body) > maximum:
        raise invalid("status", _("At most %(count)d characters.") % {"count": maximum}, "too_long")
    if len(mentioned_handles(body)) > MAX_MENTIONS or len(tags(body)) > MAX_TAGS:
        raise invalid("status", _("Too many mentions or tags."), "too_many_entities")
    return body


def checked(draft: Draft) -> str:
    """The text of a draft in the form that is stored; Invalid when a rule is broken that can be checked beforehand."""
    pictures = len(draft.pictures) + len(draft.media_ids)
    body = checked_body(draft.body, required=not pictures)
    check_labels(draft.visibility, draft.content_warning, pictures)
    check_quote_policy(draft.quote_policy)
    check_once(draft.media_ids)
    if draft.poll is not None:
        if pictures:
            raise invalid("poll", _("A post has pictures or a poll, not both."), "not_allowed")
        check_poll(draft.poll)
    return body


def check_quote_policy(policy: str) -> None:
    """Invalid when it is none."""
    if policy not in QuotePolicy.values:
        raise invalid("quote_approval_policy", _("Choose one of the list."), "unknown")


class UnexpectedMentions(Invalid):
    """The text names people, by user id, whom its author did not mean to reach."""

    code = "unexpected_mentions"

    def __init__(self, user_ids: Collection[int]) -> None:
        text = _("This text names people whom it is not meant for.")
        super().__init__(text, errors={"allowed_mentions": text})
        self.user_ids = sorted(user_ids)


def check_mentions(draft: Draft, user_ids: Collection[int]) -> None:
    """UnexpectedMentions when the text names somebody who is not among those that are allowed."""
    if draft.allowed_mentions is not None:
        unexpected = set(user_ids) - set(draft.allowed_mentions)
        if unexpected:
            raise UnexpectedMentions(unexpected)


def check_once(media_ids: Sequence[int]) -> None:
    """Invalid when a picture is named twice."""
    if len(set(media_ids)) < len(media_ids):
        raise invalid("media_ids", _("A picture can be there once."), "duplicate")


def check_picture(alt: str | None, focus: Focus | None) -> None:
    """Invalid when a description is too long, or a focus lies outside the picture; None is not looked at."""
    if alt is not None and len(alt) > ALT_MAX_CHARACTERS:
        maximum = {"count": ALT_MAX_CHARACTERS}
        raise invalid("description", _("At most %(count)d characters.") % maximum, "too_long")
    if focus is not None and not all(isfinite(part) and -1 <= part <= 1 for part in focus):
        raise invalid("focus", _("Two numbers from -1 to 1."), "out_of_range")


def check_poll(poll: PollDraft) -> None:
    """Invalid when a poll has too few, too many, too long, empty or equal options, or a time that is not allowed."""
    options = [normalise(option) for option in poll.options]
    if not POLL_OPTIONS[0] <= len(options) <= POLL_OPTIONS[1]:
        raise invalid("poll", _("A poll has 2 to 4 options."), "options")
    if any(
        not _has_ink(option) or length(option) > POLL_OPTION_MAX_CHARACTERS for option in options
    ):
        maximum = {"count": POLL_OPTION_MAX_CHARACTERS}
        raise invalid("poll", _("An option has 1 to %(count)d characters.") % maximum, "options")
    if len(set(options)) < len(options):
        raise invalid("poll", _("Two options are the same."), "duplicate")
    if not POLL_SECONDS[0] <= poll.seconds <= POLL_SECONDS[1]:
        raise invalid("poll", _("A poll is open for five minutes to a month."), "out_of_range")


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
