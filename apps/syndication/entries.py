"""What a feed is made of, whatever its form: public posts as any visitor sees them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from django.utils.text import Truncator
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.addresses import absolute
from apps.paging import Cursor, Page
from apps.posts.models import Visibility
from apps.tags.models import Tag
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.profile import ProfileFilter, profile_timeline
from apps.timeline.public import public_timeline
from apps.timeline.tag import TagQuery, tag_timeline

TITLE_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Source:
    """Where a feed comes from. `page` is the address of the page it belongs to, below the site's; the feed's own has an ending."""

    title: str
    about: str
    page: str
    posts: Callable[[Cursor], Page[FeedItem]]
    author: User | None = None
    icon: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A post in a feed. All addresses are absolute; `html` is what our own pages show."""

    id: str
    url: str
    title: str
    html: str
    warning: str
    author: str
    author_url: str
    published: datetime
    updated: datetime
    language: str
    tags: list[str]
    pictures: list[tuple[str, str]] = field(default_factory=list)  # address, description


def of_account(owner: User) -> Source:
    """What an account says to everybody: no answers, no reposts."""
    wanted = ProfileFilter(replies=False)
    return Source(
        title=f"{owner.name} (@{owner.handle})",
        about=owner.bio or _("Public posts of @%(handle)s") % {"handle": owner.handle},
        page=owner.url,
        posts=lambda cursor: profile_timeline(owner, None, cursor, wanted),
        author=owner,
        icon=absolute(owner.avatar_url) if owner.avatar_url else "",
    )


def of_tag(tag: Tag) -> Source:
    """Public posts with a tag."""
    parse_query = TagQuery(tag.name)
    return Source(
        title=f"#{tag.name}",
        about=_("Public posts with #%(name)s") % {"name": tag.name},
        page=tag.url,
        posts=lambda cursor: tag_timeline(None, parse_query, cursor),
    )


def of_everybody() -> Source:
    """Everything said to everybody."""
    return Source(
        title=_("Local"),
        about=_("Everything said to everybody."),
        page="/public",
        posts=lambda cursor: public_timeline(None, cursor),
    )


def entries(page: Page[FeedItem]) -> list[Entry]:
    """The public posts of a page; reposts are left to those who follow the reposter here."""
    return [
        _entry(item)
        for item in page.items
        if item.post.visibility == Visibility.PUBLIC and not item.is_repost
    ]


def _entry(item: FeedItem) -> Entry:
    post, warning = item.post, item.post.content_warning
    said = " ".join((warning or post.body).split())
    title = Truncator(said).chars(TITLE_CHARACTERS)
    url = absolute(item.url)
    return Entry(
        id=url,
        url=url,
        title=title or _("A picture"),
        html=str(post.absolute_html),
        warning=warning,
        author=item.author.name,
        author_url=absolute(item.author.url),
        published=post.created_at,
        updated=post.edited_at or post.created_at,
        language=post.language,
        tags=list(post.tags.values()),
        pictures=[(absolute(picture.url), picture.alt) for picture in post.pictures],
    )
