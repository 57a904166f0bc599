"""Fan-out on read: ids straight from PostgreSQL, by range scans of each author's posts.

Used to rebuild home caches, to page below them, and whenever Redis does not answer. Every function returns ids in
reading order: newest first, or oldest first for an ascending cursor.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.lookups import Exact

from apps import shards
from apps.graph.groups.queries import joined_circle_ids
from apps.graph.models import Circle, Follower, RepliesPolicy
from apps.pagination import Cursor
from apps.posts.models import OPEN, Attachment, Mention, Post, Visibility
from apps.sql import rows_of
from feedcache.ids import MAX_AUTHOR_ID, MAX_ID, SEQUENCE_BITS

NEARBY = 2_000  # posts of the whole site scanned for a page; costs as much as probing 100 followees

_AUTHORS = """(SELECT followee_id AS author_id FROM graph_followee WHERE owner_id = %(reader)s
      UNION ALL SELECT %(reader)s) author"""
# Also those whom the reader follows virtually, for their open posts; each once.
_OPEN_AUTHORS = """(SELECT followee_id AS author_id, true AS is_followed FROM graph_followee WHERE owner_id = %(reader)s
      UNION ALL SELECT %(reader)s, true
      UNION ALL SELECT v.account_id, false FROM promotions_virtualfollow v WHERE v.user_id = %(reader)s
          AND NOT EXISTS (SELECT FROM graph_followee f WHERE f.owner_id = %(reader)s AND f.followee_id = v.account_id)
      ) author"""

# One bounded index scan per author; `mentioned` posts only for those they name, circle posts by the circle.
_OF_AUTHORS = f"""
SELECT post.id
FROM {_AUTHORS}
CROSS JOIN LATERAL (
    SELECT id FROM posts_post
    WHERE author_id = author.author_id AND deleted_at IS NULL AND id < %(newest)s AND id > %(oldest)s AND {{kinds}}
      {{reachable}}
    ORDER BY id {{order}} LIMIT {{count}}
) post
"""  # noqa: S608 -- constants

# The first post of each author (head); more posts only of those authors whose first ones come first. As many heads as
# ids are requested: nothing beyond the last head is on the page.
_FIRST_OF_AUTHORS = f"""
WITH head AS (
    SELECT author.author_id, author.is_followed, post.id
    FROM {_OPEN_AUTHORS}
    CROSS JOIN LATERAL (
        SELECT id FROM posts_post
        WHERE author_id = author.author_id AND deleted_at IS NULL AND id < %(newest)s AND id > %(oldest)s AND {{kinds}}
      {{reachable}}
        ORDER BY id {{order}} LIMIT 1
    ) post
    ORDER BY post.id {{order}} LIMIT {{count}}
), tail AS (
    SELECT CASE WHEN count(*) < {{count}} THEN {{end}} ELSE {{beyond}} END AS id FROM head
)
SELECT post.id
FROM head author
CROSS JOIN LATERAL (
    SELECT id FROM posts_post
    WHERE author_id = author.author_id AND deleted_at IS NULL AND {{kinds}}
      AND {{between}} {{reachable}}
    ORDER BY id {{order}} LIMIT {{count}}
) post
"""  # noqa: S608 -- constants
_DOWN = {
    "order": "DESC",
    "end": "%(oldest)s",
    "beyond": "min(id) - 1",
    "between": "id <= author.id AND id > (SELECT id FROM tail)",
}
_UP = {
    "order": "ASC",
    "end": "%(newest)s",
    "beyond": "max(id) + 1",
    "between": "id >= author.id AND id < (SELECT id FROM tail)",
}
_OPEN = "visibility IN ('public', 'unlisted')"
_ADDRESSED = """(visibility = 'followers' OR author_id = %(reader)s OR (visibility = 'friends'
           AND EXISTS (SELECT 1 FROM graph_follower b WHERE b.owner_id = %(reader)s AND b.follower_id = author_id))
           OR (visibility = 'mentioned'
           AND EXISTS (SELECT 1 FROM posts_mention m WHERE m.post_id = posts_post.id AND m.user_id = %(reader)s)))"""
_IN_CIRCLE = """(circle_id IN (SELECT id FROM graph_circle WHERE owner_id = %(reader)s)
           OR circle_id IN (SELECT group_id FROM graph_circlemember WHERE member_id = %(reader)s))"""
# Of posts by somebody whom the reader may or may not follow.
VISIBLE_TO_READER = f"""({_OPEN} OR author_id = %(reader)s OR (visibility = 'circle' AND {_IN_CIRCLE})
           OR (visibility IN ('followers', 'friends') AND EXISTS (
               SELECT 1 FROM graph_followee f WHERE f.owner_id = %(reader)s AND f.followee_id = posts_post.author_id)
               AND (visibility = 'followers' OR EXISTS (SELECT 1 FROM graph_follower b
                    WHERE b.owner_id = %(reader)s AND b.follower_id = posts_post.author_id)))
           OR (visibility IN ('followers', 'mentioned') AND EXISTS (
               SELECT 1 FROM posts_mention m WHERE m.post_id = posts_post.id AND m.user_id = %(reader)s)))"""  # noqa: S608 -- constants
_ANSWERED = (
    f"(reply_to_id >> {SEQUENCE_BITS} & {MAX_AUTHOR_ID})"  # the parent's author, from its id
)
# NULL for a post without a parent. Continuing one's own thread is not a reply to another (Mastodon's rule).
ANSWERS_ANOTHER = f"{_ANSWERED} <> author_id"
_IS_RESTRICTED = "visibility IN ('followers', 'friends', 'mentioned', 'circle')"  # as the index `post_restricted`
_RESTRICTED = f"{_IS_RESTRICTED} AND {_ADDRESSED}"

# One bounded index scan per circle, by any author: in shared circles also by people whom the reader does not follow.
_CIRCLES = """(
    SELECT id AS circle_id FROM graph_circle WHERE owner_id = %(reader)s AND deleted_at IS NULL
    UNION ALL
    SELECT m.group_id FROM graph_circlemember m JOIN graph_circle c ON c.id = m.group_id
    WHERE m.member_id = %(reader)s AND c.deleted_at IS NULL
)"""
_OF_CIRCLES = f"""
UNION ALL
SELECT post.id
FROM {_CIRCLES} mine
CROSS JOIN LATERAL (
    SELECT id FROM posts_post
    WHERE circle_id = mine.circle_id AND deleted_at IS NULL AND id < %(newest)s AND id > %(oldest)s {{reachable}}
      AND author_id <> %(reader)s
    ORDER BY id {{order}} LIMIT {{count}}
) post
"""  # noqa: S608 -- constants
_NEXT = "ORDER BY id {order} LIMIT {count}"
_HOME_ALL = (
    _FIRST_OF_AUTHORS.replace("{kinds}", f"({_OPEN} OR author.is_followed AND {_ADDRESSED})")
    + _OF_CIRCLES
    + _NEXT
)
_HOME_OPEN = _FIRST_OF_AUTHORS.replace("{kinds}", _OPEN) + _NEXT
_HOME_RESTRICTED = _OF_AUTHORS.replace("{kinds}", _RESTRICTED) + _OF_CIRCLES + _NEXT

# Those of the next posts of the whole site that are for the reader: one range of the primary key, no probe per author.
_NEARBY = f"""
SELECT id
FROM (
    SELECT id, author_id, visibility, circle_id, deleted_at FROM posts_post
    WHERE id < %(newest)s AND id > %(oldest)s {{reachable}} ORDER BY id {{order}} LIMIT {NEARBY}
) posts_post
WHERE deleted_at IS NULL AND (
    (author_id = %(reader)s OR EXISTS (
        SELECT 1 FROM graph_followee f WHERE f.owner_id = %(reader)s AND f.followee_id = posts_post.author_id))
        AND ({_OPEN} OR {_ADDRESSED})
    OR {_OPEN} AND EXISTS (
        SELECT 1 FROM promotions_virtualfollow v WHERE v.user_id = %(reader)s AND v.account_id = posts_post.author_id)
    OR circle_id IS NOT NULL AND author_id <> %(reader)s AND circle_id IN {_CIRCLES})
ORDER BY id {{order}} LIMIT {{count}}
"""  # noqa: S608 -- constants

# The tags that a reader follows, at most 200; one bounded scan each.
_OF_TAGS = """
SELECT DISTINCT bearing.post_id AS id
FROM tags_tagfollow f
CROSS JOIN LATERAL (
    SELECT post_id FROM tags_taguse
    WHERE tag_id = f.tag_id AND is_public AND post_id < %(newest)s AND post_id > %(oldest)s
    ORDER BY post_id {order} LIMIT {count}
) bearing
WHERE f.user_id = %(reader)s
ORDER BY id {order} LIMIT {count}
"""

# Of authors and tags that are named, not followed today; with circles.
_OF_THESE = f"""
SELECT post.id
FROM unnest(%(authors)s::bigint[]) author(author_id)
CROSS JOIN LATERAL (
    SELECT id FROM posts_post
    WHERE author_id = author.author_id AND deleted_at IS NULL AND id < %(newest)s AND id > %(oldest)s {{reachable}}
      AND ({_OPEN} OR {_ADDRESSED})
    ORDER BY id {{order}} LIMIT {{count}}
) post
{_OF_CIRCLES}
UNION
SELECT bearing.post_id
FROM unnest(%(tags)s::bigint[]) tag(id)
CROSS JOIN LATERAL (
    SELECT post_id FROM tags_taguse
    WHERE tag_id = tag.id AND is_public AND post_id < %(newest)s AND post_id > %(oldest)s
    ORDER BY post_id {{order}} LIMIT {{count}}
) bearing
{_NEXT}
"""  # noqa: S608 -- constants

# The open posts of several authors, one bounded scan each.
_OPEN_OF_AUTHORS = """
SELECT post.id
FROM unnest(%(authors)s::bigint[]) author(id)
CROSS JOIN LATERAL (
    SELECT id FROM posts_post
    WHERE author_id = author.id AND deleted_at IS NULL AND visibility IN ('public', 'unlisted')
      AND id < %(newest)s AND id > %(oldest)s AND (%(replies)s OR NOT COALESCE({answers_another}, FALSE)) {reachable}
    ORDER BY id {order} LIMIT {count}
) post
ORDER BY post.id {order} LIMIT {count}
""".replace("{answers_another}", ANSWERS_ANOTHER)

# The restricted posts of one author.
_RESTRICTED_OF_AUTHOR = f"""
SELECT id FROM posts_post
WHERE author_id = %(author)s AND deleted_at IS NULL AND {_IS_RESTRICTED}
  AND id < %(newest)s AND id > %(oldest)s AND {VISIBLE_TO_READER}
  AND (%(replies)s OR NOT COALESCE({ANSWERS_ANOTHER}, FALSE))
ORDER BY id {{order}} LIMIT {{count}}
"""  # noqa: S608 -- constants

# The members of a list whom its owner still follows, one bounded scan each.
_OF_LIST = f"""
SELECT post.id
FROM (
    SELECT m.member_id AS author_id FROM graph_listmember m
    JOIN graph_followee f ON f.owner_id = %(reader)s AND f.followee_id = m.member_id
    WHERE m.group_id = %(list)s
) author
CROSS JOIN LATERAL (
    SELECT id FROM posts_post
    WHERE author_id = author.author_id AND deleted_at IS NULL AND id < %(newest)s AND id > %(oldest)s {{reachable}}
      AND ({_OPEN} OR {_ADDRESSED} OR (visibility = 'circle' AND {_IN_CIRCLE}))
      AND (reply_to_id IS NULL OR {_ANSWERED} IN (author.author_id, %(reader)s) {{replies}})
    ORDER BY id {{order}} LIMIT {{count}}
) post
"""  # noqa: S608 -- constants
_LISTED_REPLIES = {
    RepliesPolicy.NONE: "",
    RepliesPolicy.LIST: f"OR {_ANSWERED} IN (SELECT member_id FROM graph_listmember WHERE group_id = %(list)s)",  # noqa: S608 -- constants
    RepliesPolicy.FOLLOWED: f"OR {_ANSWERED} IN (SELECT followee_id FROM graph_followee WHERE owner_id = %(reader)s)",  # noqa: S608 -- constants
}


def home_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` ids of a home timeline inside the cursor's bounds: open and restricted posts, circles included."""
    return _run(_HOME_ALL, cursor, count, reader=reader_id)


def home_ids_nearby(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """The first of `home_ids`, as far as the next `NEARBY` posts of the site hold them. Fewer are not the end."""
    return _run(_NEARBY, cursor, count, reader=reader_id)


def open_home_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """The open ones among `home_ids`, without circles: the second level stores these."""
    return _run(_HOME_OPEN, cursor, count, reader=reader_id)


def restricted_home_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """The restricted ones among `home_ids`: the inbox is built from these."""
    return _run(_HOME_RESTRICTED, cursor, count, reader=reader_id)


def list_ids(
    reader_id: int, list_id: int, policy: RepliesPolicy, cursor: Cursor, count: int
) -> list[int]:
    """Up to `count` ids of posts by the members of a reader's list that the reader may see."""
    query = _OF_LIST.replace("{replies}", _LISTED_REPLIES[policy]) + _NEXT
    return _run(query, cursor, count, reader=reader_id, list=list_id)


def ids_of(
    reader_id: int,
    author_ids: Collection[int],
    tag_ids: Collection[int],
    cursor: Cursor,
    count: int,
) -> list[int]:
    """Up to `count` ids by these authors, with these tags, or of the reader's circles, that the reader may see."""
    authors, tags = list(author_ids), list(tag_ids)
    return _run(_OF_THESE, cursor, count, reader=reader_id, authors=authors, tags=tags)


def deleted_between(
    author_ids: Collection[int],
    after: datetime,
    oldest: int,
    newest: int,
    maximum: int,
    *,
    only: Q | None = None,
) -> int:
    """How many posts of these authors between two ids (exclusive) were deleted after a moment; reposts do not count."""
    rows = Post.objects.filter(only or Q(), author__in=author_ids, pk__gt=oldest, pk__lt=newest)
    deleted = rows.filter(deleted_at__gte=after).exclude(kind="repost")
    return deleted.exclude(visibility__in=["mentioned", "circle", "friends"])[:maximum].count()


def followed_tag_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    return _run(_OF_TAGS, cursor, count, reader=reader_id)


def open_ids(
    author_ids: Sequence[int], cursor: Cursor, count: int, *, replies: bool = True
) -> list[int]:
    """Up to `count` ids of the public and unlisted posts of these authors."""
    return _run(_OPEN_OF_AUTHORS, cursor, count, authors=list(author_ids), replies=replies)


def author_ids(
    author_id: int,
    reader_id: int | None,
    *,
    follows: bool,
    cursor: Cursor,
    count: int,
    only: Q | None = None,
) -> list[int]:
    """Up to `count` ids of an author's posts that a reader may see and that match `only`."""
    rows = Post.objects.filter(author=author_id, deleted_at=None)
    if author_id != reader_id:
        rows = rows.filter(_visible_to(reader_id, follows=follows))
    return _ids(rows.filter(only) if only else rows, cursor, count)


def newest_of_author(
    author_id: int, reader_id: int, *, visibilities: Collection[str], count: int
) -> list[int]:
    """The newest ids of an author's posts with these visibilities that a follower may see."""
    rows = Post.objects.filter(author=author_id, deleted_at=None, visibility__in=visibilities)
    return _ids(rows.filter(_visible_to(reader_id, follows=True)), Cursor(), count)


def open_between(author_id: int, oldest: int, newest: int, count: int) -> list[int]:
    """Up to `count` ids of an author's open posts between two ids (exclusive), newest first."""
    rows = Post.objects.filter(author=author_id, deleted_at=None, visibility__in=OPEN)
    return _ids(rows, Cursor(max_id=newest, since_id=oldest), count)


def newest_of_circle(circle_id: int, count: int) -> list[int]:
    return _ids(Post.objects.filter(circle=circle_id, deleted_at=None), Cursor(), count)


def _visible_to(reader_id: int | None, *, follows: bool) -> Q:
    allowed = Q(visibility__in=OPEN)
    if follows:
        back = Follower.objects.filter(owner=reader_id, follower=OuterRef("author"))
        allowed |= Q(visibility=Visibility.FOLLOWERS)
        allowed |= Q(Exists(back), visibility=Visibility.FRIENDS)
    if reader_id is not None:
        allowed |= Q(pk__in=Mention.objects.filter(user=reader_id).values("post_id"))
        allowed |= Q(circle__in=joined_circle_ids(reader_id)) | Q(
            circle__in=Circle.of(reader_id).values("pk")
        )
    return allowed


def public_ids(
    cursor: Cursor, count: int, *, only_media: bool = False, database: str = DEFAULT_DB_ALIAS
) -> list[int]:
    """Up to `count` ids of all public posts, without reposts; `only_media`: those with pictures."""
    if only_media:
        return _pictured_ids(cursor, count, database)
    rows = Post.objects.using(database).filter(deleted_at=None, visibility=Visibility.PUBLIC)
    return _ids(rows.exclude(kind="repost"), cursor, count)


def _pictured_ids(cursor: Cursor, count: int, database: str) -> list[int]:
    """By a scan of the pictures, so that posts without one cost nothing."""
    rows = Attachment.objects.using(database).filter(
        post__gt=cursor.floor,
        post__lt=_newest(cursor),
        post__deleted_at=None,
        post__visibility=Visibility.PUBLIC,
    )
    order = "post_id" if cursor.ascending else "-post_id"
    return list(rows.order_by(order).values_list("post_id", flat=True).distinct()[:count])


def restricted_ids(
    author_id: int, reader_id: int, *, cursor: Cursor, count: int, replies: bool = True
) -> list[int]:
    """Up to `count` ids of an author's restricted posts that this reader may see."""
    query = _RESTRICTED_OF_AUTHOR
    return _run(query, cursor, count, author=author_id, reader=reader_id, replies=replies)


def is_not_reply_to_others() -> Q:
    """Posts without a parent, or with a parent of the same author: a profile without replies."""
    parent_author = F("reply_to_id").bitrightshift(SEQUENCE_BITS).bitand(MAX_AUTHOR_ID)
    return Q(reply_to=None) | Q(Exact(parent_author, F("author_id")))


def _run(query: str, cursor: Cursor, count: int, **values: Any) -> list[int]:
    values |= {"newest": _newest(cursor), "oldest": cursor.floor}
    direction = _UP if cursor.ascending else _DOWN
    statement = query.format(count=count, reachable=shards.reachable("id"), **direction)
    return [row[0] for row in rows_of(statement, values)]


def _ids(rows: QuerySet[Post], cursor: Cursor, count: int) -> list[int]:
    bounded = rows.filter(pk__lt=_newest(cursor), pk__gt=cursor.floor)
    return list(
        bounded.order_by("pk" if cursor.ascending else "-pk").values_list("pk", flat=True)[:count]
    )


def _newest(cursor: Cursor) -> int:
    return MAX_ID if cursor.max_id is None else cursor.max_id
