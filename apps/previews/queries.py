"""Reads the previews of posts, the public posts that link to a web page, and the web pages that most people link to."""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import NamedTuple

from django.conf import settings
from django.db.models import Q
from django.utils.translation import gettext as _

from apps import replicas
from apps.accounts.models import User
from apps.errors import NotFound
from apps.filters.models import FilterContext
from apps.pagination import Cursor, Page
from apps.posts.content.post import PostContent
from apps.posts.content.text import segments
from apps.posts.models import Post, Visibility
from apps.previews.cache import read, shown
from apps.previews.models import Preview, PreviewedPost, key_of
from apps.tags.queries import Day
from apps.timeline.pipeline.items import FeedItem, LinkPreview
from apps.timeline.pipeline.page import Reader, fill_page
from apps.timeline.public import PUBLIC
from apps.timeline.sources import merge
from apps.timeline.sources.found import stored
from feedcache.ids import author_of, authors_of, first_id_at, second_of
from feedcache.local_cache import LocalCache

MAX_ADDRESS_CHARACTERS = 2000
MAX_REMEMBERED = 4096  # the number of texts whose first address is cached
# The maximum number of previews read for one web page. It has several if posts link to it with different parameters.
MAX_ADDRESSES = 8
HOURS = 48
MAX_COUNTED = 2_000  # the maximum number of posts with a preview that are counted, newest first
MIN_ACCOUNTS = 2  # the number of accounts that must link to a page before it can trend
MAX_TRENDING = 100
TRENDING_CACHE_SECONDS = 60.0


class TrendingLink(NamedTuple):
    id: int
    preview: LinkPreview
    history: list[Day]  # today first


TRENDING_CACHE: LocalCache[str, list[TrendingLink]] = LocalCache(
    maximum=1, ttl_seconds=TRENDING_CACHE_SECONDS
)


def link_of(post: PostContent) -> str:
    """The first link in a post; empty if there is none, or it is too long.

    Also empty if the post is not open, or has pictures, a poll or a quote.
    """
    if "://" not in post.body or post.pictures or post.poll or post.source_id or not post.is_open:
        return ""
    return _first_address(post.body)


@lru_cache(maxsize=MAX_REMEMBERED)
def _first_address(body: str) -> str:
    address = next((segment.value for segment in segments(body) if segment.kind == "url"), "")
    return address if len(address) <= MAX_ADDRESS_CHARACTERS else ""


def serves(picture: str) -> bool:
    """Whether a file in the storage is the picture of a preview."""
    return Preview.objects.exclude(picture="").filter(picture=picture).exists()


def previews_of(posts: Iterable[PostContent]) -> dict[int, LinkPreview]:
    """The previews of posts, by post id; posts without a preview are left out."""
    if not settings.LINK_PREVIEWS:
        return {}
    links = {post.id: link for post in posts if (link := link_of(post))}
    if not links:
        return {}
    found = read(set(links.values()))
    return {post_id: found[link] for post_id, link in links.items() if found[link].title}


def link_timeline(viewer: User | None, url: str, cursor: Cursor) -> Page[FeedItem]:
    """A page of the public posts with a preview of the page at `url`. Raises NotFound if no preview shows this page."""
    previews = _previews_at(url) if settings.LINK_PREVIEWS else []
    if not previews:
        raise NotFound(_("No post shows a preview of this page."))
    source = stored(partial(_post_ids, viewer.pk if viewer else None, previews))
    return fill_page(source, Reader(viewer, FilterContext.PUBLIC), cursor=cursor, book=PUBLIC)


def _previews_at(url: str) -> list[int]:
    """The ids of the previews of a page, found by its own address or by an address in posts."""
    rows = Preview.objects.filter(Q(url=url) | Q(key=key_of(url))).exclude(title="")
    return list(rows.order_by("-pk").values_list("pk", flat=True)[:MAX_ADDRESSES])


def _post_ids(
    viewer_id: int | None, previews: Collection[int], cursor: Cursor, count: int
) -> list[int]:
    """Up to `count` ids inside the cursor's bounds, newest first (oldest first if the cursor is ascending)."""
    lists = replicas.read(viewer_id, lambda db: [_of_preview(pk, cursor, count, db) for pk in previews])  # fmt: skip
    return merge.first_ids(lists, count, ascending=cursor.ascending)


def _of_preview(preview_id: int, cursor: Cursor, count: int, database: str) -> list[int]:
    rows = PreviewedPost.objects.using(database).filter(
        preview=preview_id, post_id__gt=cursor.floor
    )
    if cursor.max_id is not None:
        rows = rows.filter(post_id__lt=cursor.max_id)
    order = "post_id" if cursor.ascending else "-post_id"
    return list(rows.order_by(order).values_list("post_id", flat=True)[:count])


def trending_links() -> list[TrendingLink]:
    """The pages that most accounts linked to in public posts of the last two days; cached for a minute."""
    if not settings.LINK_PREVIEWS:
        return []
    return TRENDING_CACHE.get("", _count_links) or []


def _count_links() -> list[TrendingLink]:
    """Count the links in the newest `MAX_COUNTED` posts with a preview, in four queries."""
    first = first_id_at(int(time.time()) - HOURS * 3600)
    rows = PreviewedPost.objects.filter(post_id__gt=first).exclude(preview__title="")
    urls = dict(rows.order_by("-post_id").values_list("post_id", "preview__url")[:MAX_COUNTED])
    links: dict[str, list[int]] = defaultdict(list)
    for post_id in _trending_posts(urls):
        links[urls[post_id]].append(post_id)
    people = {url: len(authors_of(ids)) for url, ids in links.items()}
    ranked = sorted(links, key=lambda url: (-people[url], -len(links[url]), url))[:MAX_TRENDING]
    ranked = [url for url in ranked if people[url] >= MIN_ACCOUNTS]
    previews = {row.url: row for row in Preview.objects.filter(url__in=ranked).exclude(title="")}
    return [
        TrendingLink(previews[url].pk, shown(previews[url]), _history(links[url]))
        for url in ranked
        if url in previews
    ]


def _trending_posts(post_ids: Collection[int]) -> list[int]:
    """The public posts in `post_ids` by accounts that are neither suspended nor limited."""
    public = Post.objects.filter(
        pk__in=post_ids, visibility=Visibility.PUBLIC, deleted_at=None, hidden_at=None
    )
    ids = list(public.values_list("pk", flat=True))
    held_back = Q(suspended_at__isnull=False) | Q(limited_at__isnull=False)
    left_out = set(User.objects.filter(held_back, pk__in=authors_of(ids)).values_list("pk", flat=True))  # fmt: skip
    return [post_id for post_id in ids if author_of(post_id) not in left_out]


def _history(post_ids: Collection[int]) -> list[Day]:
    days = defaultdict(list)
    for post_id in post_ids:
        days[datetime.fromtimestamp(second_of(post_id), UTC).date()].append(post_id)
    today = datetime.now(UTC).date()
    back = [today - timedelta(days=number) for number in range(HOURS // 24 + 1)]
    return [Day(day, len(days[day]), len(authors_of(days[day]))) for day in back]
