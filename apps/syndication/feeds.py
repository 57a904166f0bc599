"""Feeds of public posts, as any visitor sees the posts: the entries, and the formats Atom, RSS and JSON."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

import orjson
from django.conf import settings
from django.utils.feedgenerator import Atom1Feed, Enclosure, Rss201rev2Feed, SyndicationFeed
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.xmlutils import SimplerXMLGenerator

from apps.accounts.models import User
from apps.addresses import absolute
from apps.pagination import Cursor, Page
from apps.posts.models import Visibility
from apps.tags.models import Tag
from apps.texts import without_control_characters
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.profile import ProfileFilter, profile_timeline
from apps.timeline.public import TagQuery, public_timeline, tag_timeline

TITLE_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Source:
    """The contents of a feed. `page` is the path of the page with the same posts; the feed's path adds the format."""

    title: str
    about: str
    page: str
    posts: Callable[[Cursor], Page[FeedItem]]
    author: User | None = None
    icon: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A post in a feed. All URLs are absolute. `html` is the text as on the site's pages, with absolute links."""

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
    # the address, type and description of each video or sound
    played: list[tuple[str, str, str]] = field(default_factory=list)


def of_account(owner: User) -> Source:
    """Public posts of an account, without reposts or replies to others."""
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
        title=_("Square"),
        about=_("All public posts."),
        page="/public",
        posts=lambda cursor: public_timeline(None, cursor),
    )


def entries(page: Page[FeedItem]) -> list[Entry]:
    """The public posts on a page, without reposts."""
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
        pictures=[
            (absolute(picture.still_url), picture.alt)
            for picture in post.pictures
            if picture.still_url
        ],
        played=[
            (absolute(picture.url), PLAYED_TYPES[picture.medium], picture.alt)
            for picture in post.pictures
            if not picture.is_image
        ],
    )


PICTURE_TYPE = "image/webp"  # the type of all stored pictures
PLAYED_TYPES = {"video": "video/mp4", "audio": "audio/mp4"}


@dataclass(frozen=True, slots=True)
class Feed:
    """A page of a feed; `older` is the `max_id` of the next page."""

    source: Source
    entries: list[Entry]
    older: int | None
    form: str

    @property
    def url(self) -> str:
        return absolute(f"{self.source.page}.{self.form}")

    @property
    def next_url(self) -> str:
        """The URL of the next page; empty on the last page."""
        return f"{self.url}?{urlencode({'max_id': self.older})}" if self.older else ""


class PagedAtom(Atom1Feed):
    """Atom with an icon, and with a link to the next page (RFC 5005)."""

    def add_root_elements(self, handler: SimplerXMLGenerator) -> None:
        super().add_root_elements(handler)
        if self.feed["next_url"]:
            handler.addQuickElement("link", "", {"rel": "next", "href": self.feed["next_url"]})
        if self.feed["icon"]:
            handler.addQuickElement("icon", self.feed["icon"])

    def add_item_elements(self, handler: SimplerXMLGenerator, item: dict[str, Any]) -> None:
        """Write the text as the entry's content, without a summary."""
        item = {**item, "description": None}
        super().add_item_elements(handler, item)
        handler.addQuickElement("content", item["html"], {"type": "html"})


class PagedRss(Rss201rev2Feed):
    """RSS with a link to the next page."""

    def add_root_elements(self, handler: SimplerXMLGenerator) -> None:
        super().add_root_elements(handler)
        if self.feed["next_url"]:
            handler.addQuickElement(
                "atom:link", None, {"rel": "next", "href": self.feed["next_url"]}
            )


def body_of(entry: Entry) -> SafeString:
    """The text of an entry with its warning and its pictures, because many feed readers show nothing else."""
    warning = format_html("<p><strong>{}</strong></p>", entry.warning) if entry.warning else ""
    pictures = format_html_join("", '<p><img src="{}" alt="{}"></p>', entry.pictures)
    return format_html("{}{}{}", warning, mark_safe(entry.html), pictures)  # noqa: S308 -- made by posts.text, which escapes


def atom(feed: Feed) -> bytes:
    return _xml(feed, PagedAtom)


def rss(feed: Feed) -> bytes:
    return _xml(feed, PagedRss)


def json(feed: Feed) -> bytes:
    source = feed.source
    body: dict[str, Any] = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": without_control_characters(source.title),
        "description": without_control_characters(source.about),
        "home_page_url": absolute(source.page),
        "feed_url": feed.url,
        "items": [_json_item(entry) for entry in feed.entries],
    }
    if feed.next_url:
        body["next_url"] = feed.next_url
    if source.icon:
        body["icon"] = source.icon
    if source.author:
        body["authors"] = [
            {
                "name": without_control_characters(source.author.name),
                "url": absolute(source.author.url),
            }
        ]
    return orjson.dumps(body)


class Form(NamedTuple):
    name: str
    media_type: str
    write: Callable[[Feed], bytes]


FORMS = {
    "atom": Form("Atom", "application/atom+xml", atom),
    "rss": Form("RSS", "application/rss+xml", rss),
    "json": Form("JSON", "application/feed+json", json),
}


def _xml(feed: Feed, kind: type[SyndicationFeed]) -> bytes:
    """Write a feed as XML, without the control characters of old texts, which XML cannot contain."""
    source = feed.source
    made = kind(
        title=without_control_characters(f"{source.title} · {settings.SITE_NAME}"),
        link=absolute(source.page),
        description=without_control_characters(source.about),
        feed_url=feed.url,
        author_name=without_control_characters(source.author.name) if source.author else None,
        author_link=absolute(source.author.url) if source.author else None,
        next_url=feed.next_url,
        icon=source.icon,
        language=None,
    )
    maximum = 1 if kind is PagedRss else None  # RSS allows one enclosure per item
    for entry in feed.entries:
        html = without_control_characters(body_of(entry))
        made.add_item(
            title=without_control_characters(entry.title),
            link=entry.url,
            description=html,
            html=html,
            unique_id=entry.id,
            pubdate=entry.published,
            updateddate=entry.updated,
            author_name=without_control_characters(entry.author),
            author_link=entry.author_url,
            categories=entry.tags,
            # the length is not known without opening the file; feeds use 0 for an unknown length
            enclosures=[Enclosure(url, "0", kind) for url, kind, _alt in _files(entry)[:maximum]],
        )
    text: str = made.writeString("utf-8")
    return text.encode()


def _files(entry: Entry) -> list[tuple[str, str, str]]:
    """The address, type and description of each file: video and sound first, then pictures."""
    return [*entry.played, *((url, PICTURE_TYPE, alt) for url, alt in entry.pictures)]


def _json_item(entry: Entry) -> dict[str, Any]:
    item: dict[str, Any] = {
        "id": entry.id,
        "url": entry.url,
        "content_html": without_control_characters(body_of(entry)),
        "date_published": entry.published.isoformat(),
        "date_modified": entry.updated.isoformat(),
        "authors": [{"name": without_control_characters(entry.author), "url": entry.author_url}],
        "tags": entry.tags,
        "attachments": [
            {"url": url, "mime_type": kind, "title": without_control_characters(alt)}
            for url, kind, alt in _files(entry)
        ],
    }
    if entry.warning:
        item["summary"] = without_control_characters(entry.warning)
    if entry.language:
        item["language"] = entry.language
    return item
