"""Fan-out on read: ids directly from PostgreSQL, by range scans of each author's posts.

Used to rebuild home caches, to page below them, while Redis is down, and for followed tags, lists, profiles and the
square.
Ids are in reading order, which is newest first, or oldest first for an ascending cursor.

A query is a function that builds the SQL for a `Slice`; psycopg fills in its parameters, such as `%(name)s`.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS
from django.db.models import F, Q, QuerySet
from django.db.models.lookups import Exact

from apps.graph.models import RepliesPolicy
from apps.pagination import Cursor
from apps.posts.models import OPEN, RESTRICTED, Attachment, Post, Visibility
from apps.posts.visibility import (
    ADDRESSED,
    CIRCLES,
    IN_CIRCLE,
    RESTRICTED_BY_FOLLOW,
    has_visibility,
    is_open,
    visible_to,
    where_visible,
)
from apps.sql import rows_of
from apps.tags.models import TagFollow
from apps.timeline.sources import virtual_follows
from feedcache.ids import MAX_AUTHOR_ID, MAX_ID, SEQUENCE_BITS

# ruff: noqa: S608 -- the SQL is built from our own constants

NEARBY = 2_000  # the number of posts of the whole site scanned for a page; costs as much as probing 100 followees

# the id of the parent's author, which is a part of the parent's id
_ANSWERED = f"(reply_to_id >> {SEQUENCE_BITS} & {MAX_AUTHOR_ID})"
# Continuing one's own thread does not count as a reply to others (Mastodon's rule).
ANSWERS_ANOTHER = f"COALESCE({_ANSWERED} <> author_id, FALSE)"
_WITH_REPLIES = f"(%(replies)s OR NOT {ANSWERS_ANOTHER})"

# Posts by the reader and by authors that the reader follows. Others' posts for circles are found by circle instead.
_RESTRICTED_OF_FOLLOWEE = where_visible(follows="true", among=RESTRICTED_BY_FOLLOW)
_OF_FOLLOWEE = where_visible(follows="true", among=(*OPEN, *RESTRICTED_BY_FOLLOW))
_IS_RESTRICTED = has_visibility(RESTRICTED)  # the condition of the index `post_restricted`
# One list of ids for all posts of a statement. `posts.visibility.FOLLOWS` would look up a row for each post instead.
_FOLLOWEE_IDS = "SELECT followee_id FROM graph_followee WHERE owner_id = %(reader)s"


class Slice(NamedTuple):
    """The order and the number of the ids to read between %(newest)s and %(oldest)s (exclusive)."""

    is_ascending: bool
    limit: int

    def first(self, column: str = "id") -> str:
        return f"ORDER BY {column} {'ASC' if self.is_ascending else 'DESC'} LIMIT {self.limit}"

    def posts(self, condition: str, columns: str = "id") -> str:
        """The SELECT of the first posts that match the condition."""
        return f"""
    SELECT {columns} FROM posts_post
    WHERE {condition} AND id < %(newest)s AND id > %(oldest)s {self.first()}"""

    def scan(self, authors: str, condition: str, limit: int | None = None) -> str:
        """One bounded index scan of posts for each of the `authors`, which is SQL for an array of their ids.

        The scan starts from the authors' rows of counts, which are on the same server as the posts, so each server
        scans its own rows. The authors are an array, because for a join with thousands of authors the planner would
        read the whole table of counts.
        """
        first = self._replace(limit=limit or self.limit)
        condition = f"author_id = author.user_id AND {condition} AND deleted_at IS NULL"
        return f"""
FROM accounts_usercounts author CROSS JOIN LATERAL ({first.posts(condition)}) post
WHERE author.user_id = ANY({authors})"""

    def scan_tag(self, tag_id: str) -> str:
        return f"""CROSS JOIN LATERAL (
    SELECT post_id FROM tags_taguse
    WHERE tag_id = {tag_id} AND is_public AND post_id < %(newest)s AND post_id > %(oldest)s {self.first("post_id")}
) bearing"""


Query = Callable[[Slice], str]


def statement(query: Query, cursor: Cursor, count: int) -> str:
    """The SQL of a query for one page, without its values, to be executed or EXPLAINed."""
    return query(Slice(cursor.ascending, count))


def _run(query: Query, cursor: Cursor, count: int, **values: Any) -> list[int]:
    values |= {"newest": _newest(cursor), "oldest": cursor.floor}
    return [row[0] for row in rows_of(statement(query, cursor, count), values)]


# A reader and the reader's followees, as an array.
_FOLLOWEES = f"%(reader)s::bigint || ARRAY({_FOLLOWEE_IDS})"


def _virtual_followees() -> str:
    """Virtual followees that the reader does not also follow, so that each author counts once."""
    return f"""ARRAY(
    SELECT account_id FROM {virtual_follows.table()} v
    WHERE user_id = %(reader)s AND account_id NOT IN ({_FOLLOWEE_IDS}))"""


def home(page: Slice) -> str:
    return _home(page, _OF_FOLLOWEE, _of_circles(page))


def open_home(page: Slice) -> str:
    return _home(page, is_open())


def _home(page: Slice, kinds: str, *more: str) -> str:
    """Posts of these kinds by the reader and followees, open posts by virtual followees, and the rows of `more`."""
    parts = [_first_of_authors(page, _FOLLOWEES, kinds)]
    if virtual_follows.VIRTUAL_FOLLOWS:
        parts.append(_first_of_authors(page, _virtual_followees(), is_open()))
    return f"{' UNION ALL '.join([*parts, *more])} {page.first()}"


def restricted_home(page: Slice) -> str:
    restricted = page.scan(_FOLLOWEES, f"{_IS_RESTRICTED} AND {_RESTRICTED_OF_FOLLOWEE}")
    return f"(SELECT post.id {restricted}) UNION ALL {_of_circles(page)} {page.first()}"


def _first_of_authors(page: Slice, authors: str, kinds: str) -> str:
    """Find the first post of each author (the heads), then select posts of the authors whose heads come first.

    The number of heads is the number of requested ids, because no post beyond the last head can be on the page.
    """
    if page.is_ascending:
        end, beyond, until = "%(newest)s", "max(post_id) + 1", "<"
    else:
        end, beyond, until = "%(oldest)s", "min(post_id) - 1", ">"
    more = page.scan(
        "ARRAY(SELECT user_id FROM head)", f"{kinds} AND id {until} (SELECT id FROM tail)"
    )
    return f"""(
WITH head AS (
    SELECT author.user_id, post.id AS post_id {page.scan(authors, kinds, limit=1)} {page.first("post_id")}
), tail AS (
    SELECT CASE WHEN count(*) < {page.limit} THEN {end} ELSE {beyond} END AS id FROM head
)
SELECT post.id {more})"""


def _of_circles(page: Slice) -> str:
    """Posts for the reader's circles, by any other author, because people in a circle need not follow each other."""
    condition = (
        f"circle_id = ANY(ARRAY({CIRCLES})) AND author_id <> %(reader)s AND deleted_at IS NULL"
    )
    return f"({page.posts(condition)})"


def home_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` ids of a home timeline, open and restricted; not those that are there only because of a tag."""
    return _run(home, cursor, count, reader=reader_id)


def open_home_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """The open posts among `home_ids`; these are the posts that the second level stores."""
    return _run(open_home, cursor, count, reader=reader_id)


def restricted_home_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """The restricted posts among `home_ids`, from which the inbox is built."""
    return _run(restricted_home, cursor, count, reader=reader_id)


def home_nearby(page: Slice) -> str:
    """The posts among the site's next `NEARBY` that belong on the reader's home; scans one range of the primary key."""
    last, until = ("max", "<=") if page.is_ascending else ("min", ">=")
    nearby = page._replace(limit=NEARBY).posts("true")
    virtual = f"SELECT account_id FROM {virtual_follows.table()} v WHERE user_id = %(reader)s"
    belongs = f"""(
    (author_id = %(reader)s OR author_id IN ({_FOLLOWEE_IDS})) AND {_OF_FOLLOWEE}
    OR {is_open()} AND author_id IN ({virtual})
    OR author_id <> %(reader)s AND {IN_CIRCLE.sql("posts_post", "author_id")})"""
    end = f"id {until} (SELECT {last}(id) FROM ({nearby}) nearby)"
    return page.posts(f"{end} AND deleted_at IS NULL AND {belongs}")


def home_ids_nearby(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """The first of `home_ids` among the site's next `NEARBY` posts. If they are fewer than `count`, more may follow."""
    return _run(home_nearby, cursor, count, reader=reader_id)


def of_list(policy: RepliesPolicy, page: Slice) -> str:
    """Posts by those members of a list whom its owner still follows, by one bounded scan per member."""
    # replies to the post's own author and to the owner of the list are shown
    answered = ["author_id, %(reader)s"]
    if policy == RepliesPolicy.LIST:
        answered.append("SELECT member_id FROM graph_listmember WHERE group_id = %(list)s")
    if policy == RepliesPolicy.FOLLOWED:
        answered.append(_FOLLOWEE_IDS)
    replies = " OR ".join(f"{_ANSWERED} IN ({ids})" for ids in answered)
    visible = where_visible(follows="true")
    members = """ARRAY(
    SELECT m.member_id FROM graph_listmember m
    JOIN graph_followee f ON f.owner_id = %(reader)s AND f.followee_id = m.member_id WHERE m.group_id = %(list)s)"""
    posts = page.scan(members, f"{visible} AND (reply_to_id IS NULL OR {replies})")
    return f"SELECT post.id {posts} {page.first()}"


def list_ids(
    reader_id: int, list_id: int, policy: RepliesPolicy, cursor: Cursor, count: int
) -> list[int]:
    """Up to `count` ids of posts that the reader may see, by the members of one of their lists."""
    return _run(partial(of_list, policy), cursor, count, reader=reader_id, list=list_id)


def of_these(page: Slice) -> str:
    """Posts by the given authors, as if the reader followed them; with the given tags; and for the reader's circles."""
    return f"""
(SELECT post.id {page.scan("%(authors)s::bigint[]", _OF_FOLLOWEE)})
UNION ALL {_of_circles(page)}
UNION
SELECT bearing.post_id FROM unnest(%(tags)s::bigint[]) tag(id) {page.scan_tag("tag.id")}
{page.first()}"""


def ids_of(
    reader_id: int,
    author_ids: Collection[int],
    tag_ids: Collection[int],
    cursor: Cursor,
    count: int,
) -> list[int]:
    """Up to `count` ids of posts by these authors, with these tags, or for the reader's circles (see `of_these`)."""
    authors, tags = list(author_ids), list(tag_ids)
    return _run(of_these, cursor, count, reader=reader_id, authors=authors, tags=tags)


def of_followed_tags(page: Slice) -> str:
    """Posts with the tags that a reader follows, by one bounded scan each; at most 200 tags."""
    return f"""
SELECT DISTINCT bearing.post_id AS id FROM unnest(%(tags)s::bigint[]) f(tag_id) {page.scan_tag("f.tag_id")}
{page.first()}"""


def followed_tag_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    tags = list(TagFollow.objects.filter(user=reader_id).values_list("tag", flat=True))
    return _run(of_followed_tags, cursor, count, tags=tags) if tags else []


def open_of_authors(page: Slice) -> str:
    posts = page.scan("%(authors)s::bigint[]", f"{is_open()} AND {_WITH_REPLIES}")
    return f"SELECT post.id {posts} {page.first('post.id')}"


def open_ids(
    author_ids: Sequence[int], cursor: Cursor, count: int, *, replies: bool = True
) -> list[int]:
    """Up to `count` ids of the public and unlisted posts of these authors."""
    return _run(open_of_authors, cursor, count, authors=list(author_ids), replies=replies)


def open_ids_of_servers(author_ids: Collection[int], cursor: Cursor, count: int) -> list[int]:
    """Like `open_ids`, but runs only on these authors' servers. It is slower for authors who rarely write."""
    rows = Post.objects.filter(author__in=author_ids, deleted_at=None, visibility__in=OPEN)
    return _ids(rows, cursor, count)


def restricted_of_author(page: Slice) -> str:
    return page.posts(
        "author_id = %(author)s AND deleted_at IS NULL"
        f" AND {_IS_RESTRICTED} AND {where_visible(author='%(author)s')} AND {_WITH_REPLIES}"
    )


def restricted_ids(
    author_id: int, reader_id: int, *, cursor: Cursor, count: int, replies: bool = True
) -> list[int]:
    """Up to `count` ids of an author's restricted posts that this reader may see."""
    values = {"author": author_id, "reader": reader_id, "replies": replies}
    return _run(restricted_of_author, cursor, count, **values)


def deleted_between(
    author_ids: Collection[int],
    after: datetime,
    oldest: int,
    newest: int,
    maximum: int,
    *,
    only: Q | None = None,
) -> int:
    """The number of these authors' posts between two ids (exclusive) that were deleted at `after` or later.

    At most `maximum`. Reposts, addressed posts, and posts that do not match `only` are not counted.
    """
    rows = Post.objects.filter(only or Q(), author__in=author_ids, pk__gt=oldest, pk__lt=newest)
    deleted = rows.filter(deleted_at__gte=after).exclude(kind="repost")
    return deleted.exclude(visibility__in=ADDRESSED)[:maximum].count()


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
        rows = rows.filter(visible_to(reader_id, follows=follows, author_id=author_id))
    return _ids(rows.filter(only) if only else rows, cursor, count)


def newest_of_author(
    author_id: int, reader_id: int, *, visibilities: Collection[str], count: int
) -> list[int]:
    """The newest ids of an author's posts with these visibilities that the reader may see as a follower."""
    rows = Post.objects.filter(author=author_id, deleted_at=None, visibility__in=visibilities)
    return _ids(
        rows.filter(visible_to(reader_id, follows=True, author_id=author_id)), Cursor(), count
    )


def open_between(author_id: int, oldest: int, newest: int, count: int) -> list[int]:
    """Up to `count` ids of an author's open posts between two ids (exclusive), newest first."""
    rows = Post.objects.filter(author=author_id, deleted_at=None, visibility__in=OPEN)
    return _ids(rows, Cursor(max_id=newest, since_id=oldest), count)


def newest_of_circle(circle_id: int, count: int) -> list[int]:
    return _ids(Post.objects.filter(circle=circle_id, deleted_at=None), Cursor(), count)


def public_ids(
    cursor: Cursor, count: int, *, only_media: bool = False, database: str = DEFAULT_DB_ALIAS
) -> list[int]:
    """Up to `count` ids of all public posts, without reposts; `only_media`: only posts with media."""
    if only_media:
        return _pictured_ids(cursor, count, database)
    rows = Post.objects.using(database).filter(deleted_at=None, visibility=Visibility.PUBLIC)
    return _ids(rows.exclude(kind="repost"), cursor, count)


def _pictured_ids(cursor: Cursor, count: int, database: str) -> list[int]:
    """The `public_ids` of posts with media, found by scanning the attachments, so that other posts are not read."""
    rows = Attachment.objects.using(database).filter(
        post__gt=cursor.floor,
        post__lt=_newest(cursor),
        post__deleted_at=None,
        post__visibility=Visibility.PUBLIC,
    )
    order = "post_id" if cursor.ascending else "-post_id"
    return list(rows.order_by(order).values_list("post_id", flat=True).distinct()[:count])


def is_not_reply_to_others() -> Q:
    """The condition of a profile without replies: posts without a parent, or with a parent by the same author."""
    parent_author = F("reply_to_id").bitrightshift(SEQUENCE_BITS).bitand(MAX_AUTHOR_ID)
    return Q(reply_to=None) | Q(Exact(parent_author, F("author_id")))


def _ids(rows: QuerySet[Post], cursor: Cursor, count: int) -> list[int]:
    bounded = rows.filter(pk__lt=_newest(cursor), pk__gt=cursor.floor)
    return list(
        bounded.order_by("pk" if cursor.ascending else "-pk").values_list("pk", flat=True)[:count]
    )


def _newest(cursor: Cursor) -> int:
    return MAX_ID if cursor.max_id is None else cursor.max_id
