"""Searches posts, newest first, and accounts by name and handle. Visibility is checked after reading the index."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from apps import replicas
from apps.accounts.models import HANDLE_PATTERN, User
from apps.accounts.queries import user_ids_by_handle, users_by_id
from apps.addresses import without_own_host
from apps.errors import Invalid, NotFound
from apps.graph.queries import exact_relations
from apps.pagination import Cursor, Page
from apps.search.query_parser import TEXT_MAX_CHARACTERS, SearchQuery
from apps.search.words import tsquery
from apps.sql import TimeLimit, TooSlow
from apps.timeline.pipeline import rulebook
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import Reader, fill_page
from apps.timeline.sources.found import stored
from apps.timeline.thread import visible_item
from feedcache.ids import MAX_ID, parse_id

_FOUND = """
SELECT e.post_id FROM search_postentry e
WHERE (e.is_public OR e.author_id = %(viewer)s) AND e.post_id > %(oldest)s AND e.post_id < %(newest)s
"""
_WORDS = "AND e.words @@ %(query)s::tsquery"
_AUTHOR = "AND e.author_id = %(author)s"
_PICTURES = "AND EXISTS (SELECT 1 FROM posts_attachment a WHERE a.post_id = e.post_id AND a.author_id = e.author_id)"
_POST = "AND EXISTS (SELECT 1 FROM posts_post p WHERE p.id = e.post_id AND p.author_id = e.author_id AND {what})"
_REPLY = _POST.replace("{what}", "p.reply_to_id IS NOT NULL")
_LANGUAGE = _POST.replace("{what}", "lower(p.language) LIKE %(language)s")


def search_posts(
    viewer: User | None, query: SearchQuery, cursor: Cursor, *, author_id: int | None = None
) -> Page[FeedItem]:
    """A page of the posts that match a query, optionally by one author.

    Empty if the query has no words and no author, or if there is no such author. Raises Invalid if the words are so
    frequent that the search takes longer than `SEARCH_SECONDS`.
    """
    viewer_id = viewer.pk if viewer else None
    if query.author and author_id is None:
        author_id = viewer_id if query.author == "me" else _author(query.author)
        if author_id is None:
            return Page()
    if not query.tsquery and author_id is None:
        return Page()

    time_limit = TimeLimit(settings.SEARCH_SECONDS)

    def source(position: Cursor, count: int) -> list[int]:
        return _candidates(
            viewer_id, time_limit, *_statement(query, viewer_id, author_id, position, count)
        )

    return fill_page(
        stored(source),
        Reader(viewer, None),
        cursor=_within(query, cursor),
        book=rulebook.NOT_MUTED,
    )


def _within(query: SearchQuery, cursor: Cursor) -> Cursor:
    """The cursor, narrowed by the operators `before:` and `after:`."""
    below = [post_id for post_id in (query.below, cursor.max_id) if post_id is not None]
    above = max(query.above, cursor.since_id or 0)
    return replace(cursor, max_id=min(below, default=None), since_id=above or None)


def _author(handle: str) -> int | None:
    return user_ids_by_handle([handle]).get(handle)


def _statement(
    query: SearchQuery,
    viewer_id: int | None,
    author_id: int | None,
    cursor: Cursor,
    count: int,
) -> tuple[str, dict[str, Any]]:
    conditions = {
        _WORDS: bool(query.tsquery),
        _AUTHOR: author_id is not None,
        _PICTURES: query.with_pictures,
        _REPLY: query.only_replies,
        _LANGUAGE: bool(query.language),
    }
    order = f"ORDER BY e.post_id {'ASC' if cursor.ascending else 'DESC'} LIMIT %(count)s"
    values: dict[str, Any] = {
        "viewer": viewer_id,
        "author": author_id,
        "query": query.tsquery,
        "language": query.language + "%",
        "oldest": cursor.floor,
        "newest": MAX_ID if cursor.max_id is None else cursor.max_id,
        "count": count,
    }
    applying = (sql_text for sql_text, applies in conditions.items() if applies)
    return "\n".join([_FOUND, *applying, order]), values


def _candidates(
    viewer_id: int | None, time_limit: TimeLimit, statement: str, values: Mapping[str, Any]
) -> list[int]:
    """The ids that a statement selects, perhaps from a replica. The caller checks visibility."""
    try:
        rows = replicas.read(
            viewer_id, lambda db: time_limit.rows_of(statement, values, database=db)
        )
    except TooSlow:
        message = _("This search takes too long. Try rarer words, or a time: after:2026-01-31.")
        raise Invalid(message, code="too_slow") from None
    return [row[0] for row in rows]


def post_at_url(viewer: User | None, text: str) -> FeedItem | None:
    """The post at a pasted URL, if it is a URL of this site and the viewer may see the post."""
    match = re.fullmatch(rf"{re.escape(settings.SITE_URL)}/@\w+/(\d+)", text.strip(), re.ASCII)
    if match is None:
        return None
    try:
        return visible_item(viewer.pk if viewer else None, parse_id(match[1]))
    except (NotFound, ValueError):
        return None


MAX_CANDIDATES = 200  # the accounts from which `offset` and `limit` select
_HANDLE = re.compile(HANDLE_PATTERN.replace("{3,30}", "{1,30}"), re.ASCII)

# Four bounded subqueries: the viewer's followees (separate, so that others cannot crowd them out); a prefix of the
# handle; words of name and handle; and guesses by a similar handle (trigrams). Whether the viewer follows a found
# account is read from the account's list of followers, which is on the same server as its counts.
_PEOPLE = """
SELECT u.id
FROM (
    SELECT id, bool_and(is_guess) AS is_guess FROM (
        (
            SELECT o.followee_id AS id, false AS is_guess
            FROM graph_followee o
            JOIN accounts_user k ON k.id = o.followee_id
            LEFT JOIN search_personentry e ON e.user_id = o.followee_id
            WHERE o.owner_id = %(viewer)s
                AND (%(is_handle)s AND k.handle LIKE %(prefix)s OR e.words @@ %(query)s::tsquery)
            LIMIT %(limit)s
        )
        UNION ALL
        (
            SELECT id, false FROM accounts_user WHERE %(is_handle)s AND handle >= %(handle)s AND handle < %(end)s
            ORDER BY handle LIMIT %(limit)s
        )
        UNION ALL
        (SELECT user_id, false FROM search_personentry WHERE words @@ %(query)s::tsquery LIMIT %(limit)s)
        UNION ALL
        (SELECT id, true FROM accounts_user WHERE handle %% %(handle)s AND %(guesses)s LIMIT %(limit)s)
    ) ways GROUP BY id
) found
JOIN accounts_user u ON u.id = found.id AND u.suspended_at IS NULL
JOIN accounts_usercounts c ON c.user_id = u.id
LEFT JOIN graph_follower f ON f.owner_id = c.user_id AND f.follower_id = %(viewer)s
LEFT JOIN graph_followee b ON b.owner_id = c.user_id AND b.followee_id = %(viewer)s
WHERE f.id IS NOT NULL OR NOT %(only_followed)s
ORDER BY u.handle = %(handle)s DESC, found.is_guess, f.id IS NOT NULL DESC, b.id IS NOT NULL DESC,
    u.handle LIKE %(prefix)s DESC, c.followers DESC, u.id
LIMIT %(limit)s
"""
MIN_GUESSED = 3  # characters; shorter terms are similar to everything


def search_people(
    viewer: User | None, text: str, *, limit: int, offset: int = 0, only_followed: bool = False
) -> list[User]:
    """Find accounts by words of the name or handle, by a prefix of the handle, or by a similar handle.

    An exact handle comes first, and merely similar handles come last. Between them come the viewer's followees, the
    viewer's followers, and all others. Excludes suspended accounts and those that block the viewer. Accounts that the
    viewer blocks match only by the whole handle, so that the viewer can unblock them.
    """
    term = _strip_address(text[:TEXT_MAX_CHARACTERS])
    words, viewer_id = tsquery([term]), viewer.pk if viewer else None
    if not words or (only_followed and viewer is None):
        return []
    handle = term.lower() if _HANDLE.fullmatch(term.lower()) else ""
    values: dict[str, Any] = {
        "prefix": handle.replace("_", r"\_") + "%",
        "handle": handle,
        "end": handle
        + "{",  # sorts after all characters of handles, so that the handles with the prefix are a range of the index
        "is_handle": bool(handle),
        "guesses": len(handle) >= MIN_GUESSED,
        "query": words,
        "viewer": viewer_id
        or 0,  # with NULL, the planner would remove the join conditions that let Citus join on each server
        "only_followed": only_followed,
        "limit": MAX_CANDIDATES,
    }
    ids = _candidates(viewer_id, TimeLimit(settings.SEARCH_SECONDS), _PEOPLE, values)
    related = exact_relations(viewer_id, ids)
    # an exact match of the handle is the first row
    exact = _with_handle(handle, related.blocking.intersection(ids[:1]))
    hidden = related.blocked_by | (related.blocking - exact)
    visible = [user_id for user_id in ids if user_id not in hidden][offset : offset + limit]
    users = users_by_id(visible)
    return [users[user_id] for user_id in visible if user_id in users]


def _with_handle(handle: str, ids: Collection[int]) -> set[int]:
    return {pk for pk, user in users_by_id(ids).items() if user.handle == handle}


def _strip_address(text: str) -> str:
    """The search term without a leading @, without this site's host, and without the site's part of a profile's URL."""
    return without_own_host(text.strip().removeprefix(f"{settings.SITE_URL}/")).strip()
