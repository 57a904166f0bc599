"""Drafts of posts, their validation, and the audience of the new post. Nothing is written here."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from django.conf import settings
from django.core.files.base import File
from django.utils.translation import gettext as _

from apps.accounts.models import QuotePolicy
from apps.errors import Invalid, NotAllowed, invalid
from apps.graph.groups.queries import may_reply_in, require_may_post
from apps.posts.content.post import PostContent
from apps.posts.content.text import (
    MAX_MENTIONS,
    MAX_TAGS,
    RAW_MAX_CHARACTERS,
    is_too_long,
    mentioned_handles,
    tags,
    without_handles,
)
from apps.posts.models import Kind, Medium, Post, Visibility
from apps.posts.visibility import narrowest
from apps.texts import is_visible, normalise
from feedcache.ids import author_of

MAX_PICTURES = 4
ALT_MAX_CHARACTERS = 10_000  # of a picture's description
CONTENT_WARNING_MAX_CHARACTERS = 200
# The x and y of the point that crops must contain, from -1 (left, bottom) to 1 (right, top).
Focus = tuple[float, float]
POLL_OPTIONS = (2, 4)  # minimum, maximum
POLL_OPTION_MAX_CHARACTERS = 50
POLL_SECONDS = (300, 2_678_400)  # minimum, maximum


@dataclass(frozen=True, slots=True)
class NewPicture:
    """A picture to attach: a file ready to be served, its size in pixels, its description."""

    file: "File[bytes]"
    width: int
    height: int
    alt: str = ""


@dataclass(frozen=True, slots=True)
class PictureChange:
    """The changes that an edit makes to a picture of the post; None leaves a value unchanged."""

    id: int
    alt: str | None = None
    focus: Focus | None = None

    def values(self) -> dict[str, Any]:
        """The changed columns."""
        values: dict[str, Any] = {} if self.alt is None else {"alt": self.alt}
        if self.focus is not None:
            values |= {"focus_x": self.focus[0], "focus_y": self.focus[1]}
        return values


@dataclass(frozen=True, slots=True)
class PollDraft:
    """A poll: 2 to 4 options of up to 50 characters, open for 5 minutes to a month."""

    options: Sequence[str]
    seconds: int
    multiple: bool = False
    hide_totals: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    body: str
    visibility: str = Visibility.PUBLIC
    reply_to_id: int | None = None
    quote_of_id: int | None = None
    content_warning: str = ""
    language: str = ""
    pictures: Sequence[NewPicture] = ()
    circle_id: int | None = None
    sensitive: bool = False
    media_ids: Sequence[int] = ()  # uploads
    poll: PollDraft | None = None
    quote_policy: str = QuotePolicy.PUBLIC
    allowed_mentions: Sequence[int] | None = None  # user ids; None: anybody
    application: str = ""  # the name of the API client
    website: str = ""

    def with_pictures(self, media_ids: Sequence[int]) -> "Draft":
        """A copy with these uploads instead of its own."""
        return replace(self, media_ids=tuple(media_ids))

    @classmethod
    def restored(cls, data: dict[str, Any]) -> "Draft":
        """A draft from the JSON of a scheduled post; missing fields get their defaults."""
        poll = data.get("poll")
        return cls(**{**data, "poll": PollDraft(**poll) if poll else None})


def clean_body(text: str, *, required: bool, visibility: str) -> str:
    """The text as stored. Raises Invalid if it is empty but `required`, or has too many characters, mentions or tags.

    In a post for mentioned people, the mentions at the beginning name the addressees and do not count for the length.
    """
    if len(text) > RAW_MAX_CHARACTERS:
        raise invalid("status", _("The text is too long."), "too_long")
    body = normalise(text)
    if required and not is_visible(body):
        raise invalid("status", _("Write something first."), "blank")
    maximum = settings.POST_MAX_CHARACTERS
    counted = without_handles(body) if visibility == Visibility.MENTIONED else body
    if is_too_long(counted, maximum):
        raise invalid("status", _("At most %(count)d characters.") % {"count": maximum}, "too_long")
    if len(mentioned_handles(body)) > MAX_MENTIONS or len(tags(body)) > MAX_TAGS:
        raise invalid("status", _("Too many mentions or tags."), "too_many_entities")
    return body


def clean_draft(draft: Draft) -> str:
    """The text of a draft, as stored. Raises Invalid if the draft breaks a rule that can be checked without a query."""
    pictures = len(draft.pictures) + len(draft.media_ids)
    body = clean_body(draft.body, required=not pictures, visibility=draft.visibility)
    check_labels(draft.visibility, draft.content_warning, pictures)
    check_quote_policy(draft.quote_policy)
    check_unique(draft.media_ids)
    if draft.poll is not None:
        check_poll(draft.poll)
    return body


def kind_of(media: Sequence[str]) -> Kind:
    """The kind of a post without a quote, which depends on its attachments."""
    if not media:
        return Kind.TEXT
    return {Medium.VIDEO: Kind.VIDEO, Medium.AUDIO: Kind.AUDIO}.get(Medium(media[0]), Kind.PICTURE)


def check_quote_policy(policy: str) -> None:
    if policy not in QuotePolicy.values:
        raise invalid("quote_approval_policy", _("Choose one of the options."), "unknown")


class UnexpectedMentions(Invalid):
    """The text mentions users (by id) that its author did not expect."""

    code = "unexpected_mentions"

    def __init__(self, user_ids: Collection[int]) -> None:
        text = _("This text mentions people it is not addressed to.")
        super().__init__(text, errors={"allowed_mentions": text})
        self.user_ids = sorted(user_ids)


def check_mentions(draft: Draft, user_ids: Collection[int]) -> None:
    """Raise UnexpectedMentions if the text mentions somebody who is not in `draft.allowed_mentions`."""
    if draft.allowed_mentions is not None:
        unexpected = set(user_ids) - set(draft.allowed_mentions)
        if unexpected:
            raise UnexpectedMentions(unexpected)


def check_quoted_is_named(post: Post, mentioned_ids: Collection[int]) -> None:
    """Raise Invalid if a post for mentioned people quotes an author that it does not mention."""
    if post.source_id is None or post.visibility != Visibility.MENTIONED:
        return
    if author_of(post.source_id) not in {post.author_id, *mentioned_ids}:
        text = _("A post for mentioned people must mention the author it quotes.")
        raise invalid("quoted_status_id", text, "not_mentioned")


def check_unique(media_ids: Sequence[int]) -> None:
    """Raise Invalid if an id occurs twice."""
    if len(set(media_ids)) < len(media_ids):
        raise invalid("media_ids", _("Each picture can be used only once."), "duplicate")


def check_picture(alt: str | None, focus: Focus | None) -> None:
    """Raise Invalid if a description is too long, or a focus is outside the picture."""
    if alt is not None and len(alt) > ALT_MAX_CHARACTERS:
        maximum = {"count": ALT_MAX_CHARACTERS}
        raise invalid("description", _("At most %(count)d characters.") % maximum, "too_long")
    if focus is not None and not all(isfinite(part) and -1 <= part <= 1 for part in focus):
        raise invalid("focus", _("Enter two numbers from -1 to 1."), "out_of_range")


def check_poll(poll: PollDraft) -> None:
    """Raise Invalid for a wrong number of options, a wrong duration, or a long, empty or repeated option."""
    options = [normalise(option) for option in poll.options]
    if not POLL_OPTIONS[0] <= len(options) <= POLL_OPTIONS[1]:
        raise invalid("poll", _("A poll needs 2 to 4 options."), "options")
    if any(
        not is_visible(option) or is_too_long(option, POLL_OPTION_MAX_CHARACTERS)
        for option in options
    ):
        maximum = {"count": POLL_OPTION_MAX_CHARACTERS}
        raise invalid("poll", _("Options need 1 to %(count)d characters.") % maximum, "options")
    if len(set(options)) < len(options):
        raise invalid("poll", _("Two options are the same."), "duplicate")
    if not POLL_SECONDS[0] <= poll.seconds <= POLL_SECONDS[1]:
        raise invalid("poll", _("A poll can be open for five minutes to a month."), "out_of_range")


def check_labels(visibility: str, content_warning: str, pictures: int) -> None:
    """Raise Invalid for an unknown visibility, a warning that is too long, or too many pictures."""
    if visibility not in Visibility.values:
        raise invalid("visibility", _("Unknown visibility."), "unknown")
    if len(content_warning) > CONTENT_WARNING_MAX_CHARACTERS:
        message = _("At most %(count)d characters.") % {"count": CONTENT_WARNING_MAX_CHARACTERS}
        raise invalid("spoiler_text", message, "too_long")
    if pictures > MAX_PICTURES:
        raise invalid(
            "media_ids", _("At most %(count)d pictures.") % {"count": MAX_PICTURES}, "too_many"
        )


def audience(author_id: int, draft: Draft, parent: PostContent | None) -> tuple[str, int | None]:
    """The visibility and circle of a new post.

    A reply in a circle stays in it; a reply to another restricted post gets the narrower of both visibilities. Raises
    Invalid if circle and visibility contradict each other, NotFound or NotAllowed if the author may not post to
    the circle.
    """
    if parent is not None and parent.circle_id is not None:
        return Visibility.CIRCLE, _inherited(author_id, parent.circle_id)
    _check_fit(draft)
    if draft.circle_id is not None:
        require_may_post(author_id, draft.circle_id)
    if parent is None or parent.is_open:
        return draft.visibility, draft.circle_id
    reach = narrowest(draft.visibility, parent.visibility)
    return reach, draft.circle_id if reach == Visibility.CIRCLE else None


def _inherited(author_id: int, circle_id: int) -> int:
    # authors still see their own posts in a circle that they left or whose owner is suspended, but may not reply there
    if not may_reply_in(author_id, circle_id):
        raise NotAllowed(_("You no longer belong to this circle."))
    return circle_id


def _check_fit(draft: Draft) -> None:
    if draft.visibility == Visibility.CIRCLE and draft.circle_id is None:
        raise invalid("circle_id", _("Choose a circle."), "blank")
    # Probably a mistake. If it were accepted, people outside the circle could see a post meant for it.
    if draft.visibility != Visibility.CIRCLE and draft.circle_id is not None:
        raise invalid("circle_id", _("Only a post for a circle can name a circle."), "unknown")
