"""Finds the link of a post that gets a preview, and reads the previews for a page of posts."""

from collections.abc import Iterable
from functools import lru_cache

from django.conf import settings

from apps.posts.content.post import PostContent
from apps.posts.content.text import segments
from apps.previews.cache import read
from apps.previews.models import Preview
from apps.timeline.pipeline.items import LinkPreview

MAX_ADDRESS_CHARACTERS = 2000
MAX_REMEMBERED = 4096  # texts with an address


def link_of(post: PostContent) -> str:
    """The first link in a post; empty if it has none, is not open, or has pictures, a poll or a quote."""
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
