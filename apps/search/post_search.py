"""Posts by their words, newest first. What a viewer may not see is not found: the gate decides after the index."""

import re
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db import connection

from apps.accounts.models import User
from apps.accounts.queries import user_ids_by_handle
from apps.errors import NotFound
from apps.paging import Cursor, Page
from apps.search.query import SearchQuery
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import fill_page, not_muted
from apps.timeline.thread import visible_item
from feedcache.ids import MAX_ID, parse_id

_FOUND = """
SELECT e.post_id FROM search_postentry e
WHERE (e.is_public OR e.author_id = %(viewer)s) AND e.post_id > %(oldest)s AND e.post_id < %(newest)s
"""
_WORDS = "AND e.words @@ %(query)s::tsquery"
_AUTHOR = "AND e.author_id = %(author)s"
_PICTURES = "AND EXISTS (SELECT 1 FROM posts_attachment a WHERE a.post_id = e.post_id)"
_POST = "AND EXISTS (SELECT 1 FROM posts_post p WHERE p.id = e.post_id AND {what})"
_REPLY = _POST.replace("{what}", "p.reply_to_id IS NOT NULL")
_LANGUAGE = _POST.replace("{what}", "lower(p.language) LIKE %(language)s")


def posts_found(
    viewer: User | None, search: SearchQuery, cursor: Cursor, *, author_id: int | None = None
) -> Page[FeedItem]:
    """A page of the posts that fit a wish; of one author when one is named. Empty when neither words nor an author are."""
    viewer_id = viewer.pk if viewer else None
    if search.author and author_id is None:
        author_id = viewer_id if search.author == "me" else _author(search.author)
        if author_id is None:
            return Page()
    if not search.query and author_id is None:
        return Page()

    def source(walk: Cursor, count: int) -> list[int]:
        return _ids(search, viewer_id, author_id, walk, count)

    return fill_page(source, viewer_id=viewer_id, cursor=_within(search, cursor), rule=not_muted)


def _within(search: SearchQuery, cursor: Cursor) -> Cursor:
    """The cursor inside what the operators say of the time."""
    below = [one for one in (search.below, cursor.max_id) if one is not None]
    above = max(search.above, cursor.since_id or 0)
    return replace(cursor, max_id=min(below, default=None), since_id=above or None)


def _author(handle: str) -> int | None:
    return user_ids_by_handle([handle]).get(handle)


def _ids(
    search: SearchQuery,
    viewer_id: int | None,
    author_id: int | None,
    cursor: Cursor,
    count: int,
) -> list[int]:
    parts = {
        _WORDS: bool(search.query),
        _AUTHOR: author_id is not None,
        _PICTURES: search.with_pictures,
        _REPLY: search.only_replies,
        _LANGUAGE: bool(search.language),
    }
    order = f"ORDER BY e.post_id {'ASC' if cursor.ascending else 'DESC'} LIMIT %(count)s"
    values: dict[str, Any] = {
        "viewer": viewer_id,
        "author": author_id,
        "query": search.query,
        "language": search.language + "%",
        "oldest": cursor.floor,
        "newest": MAX_ID if cursor.max_id is None else cursor.max_id,
        "count": count,
    }
    with connection.cursor() as sql:
        sql.execute(
            "\n".join([_FOUND, *(part for part, wanted in parts.items() if wanted), order]), values
        )
        return [row[0] for row in sql.fetchall()]


def post_at(viewer: User | None, text: str) -> FeedItem | None:
    """The post whose address somebody pasted, if it is one of this site that the viewer may see."""
    match = re.fullmatch(rf"{re.escape(settings.SITE_URL)}/@\w+/(\d+)", text.strip(), re.ASCII)
    if match is None:
        return None
    try:
        return visible_item(viewer.pk if viewer else None, parse_id(match[1]))
    except (NotFound, ValueError):
        return None
