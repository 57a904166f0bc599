"""The entries of a feed in any format: public posts as any visitor sees them."""

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
    """What a feed is of. `page` is the path of its page; the feed's own path adds the format."""

    title: str
    about: str
    page: str
    posts: Callable[[Cursor], Page[FeedItem]]
    author: User | None = None
    icon: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A post in a feed. All URLs are absolute; `html` is as on the site's pages."""

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
    """Public posts of an account, without replies and reposts."""
    profile_filter = ProfileFilter(replies=False)
    return Source(
        title=f"{owner.name} (@{owner.handle})",
        about=owner.bio or _("Public posts of @%(handle)s") % {"handle": owner.handle},
        page=owner.url,
        posts=lambda cursor: profile_timeline(owner, None, cursor, profile_filter),
        author=owner,
        icon=absolute(owner.avatar_url) if owner.avatar_url else "",
    )


def of_tag(tag: Tag) -> Source:
    query = TagQuery(tag.name)
    return Source(
        title=f"#{tag.name}",
        about=_("Public posts with #%(name)s") % {"name": tag.name},
        page=tag.url,
        posts=lambda cursor: tag_timeline(None, query, cursor),
    )


def of_everybody() -> Source:
    return Source(
        title=_("Local"),
        about=_("Everything said to everybody."),
        page="/public",
        posts=lambda cursor: public_timeline(None, cursor),
    )


def entries(page: Page[FeedItem]) -> list[Entry]:
    """The public posts of a page, without reposts."""
    return [
        _entry(item)
        for item in page.items
        if item.post.visibility == Visibility.PUBLIC and not item.is_repost
    ]


def _entry(item: FeedItem) -> Entry:
    post, warning = item.post, item.post.content_warning
    text = " ".join((warning or post.body).split())
    title = Truncator(text).chars(TITLE_CHARACTERS)
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
