"""Writes the rows of posts and their counts.

A change is made in a transaction that first locks the author's counts (`lock_author`), and then the counts of the posts
that the change concerns.
"""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import NamedTuple

from django.db.models import F
from django.db.models.functions import Now

from apps.accounts.cache import USER_COUNTS
from apps.accounts.models import User, UserCounts
from apps.events.actions import RECORD, recording
from apps.posts.cache import POST_COUNTS
from apps.posts.content.post import PostContent
from apps.posts.models import OPEN, Counts, Kind, Post, Revision
from apps.sql import Columns, rows_of, rows_of_each
from feedcache.ids import next_post_id, second_of
from feedcache.structures.counters.records import Row

_POST, _COUNTS = Columns(Post), Columns(UserCounts)
_LOCK = f"""
SELECT {_COUNTS.of("c")}, extract(epoch FROM clock_timestamp())::float8
FROM accounts_usercounts c WHERE user_id = %(author)s FOR UPDATE
"""  # noqa: S608 -- constants
# The rows of a new post that are written in one round trip: the post, its counts, its events, the counts of its author,
# and its mentions. Foreign keys are checked at the commit.
_INSERT = f"""
{_POST.insertion()};
INSERT INTO posts_postcounts (post_id, author_id, {", ".join(Counts._fields)})
    VALUES (%(id)s, %(author_id)s{", 0" * len(Counts._fields)});
{RECORD};
UPDATE accounts_usercounts SET
    posts = posts + %(counted)s, last_post_id = %(id)s, last_open_post_id = %(last_open_post_id)s,
    wrote_restricted = %(wrote_restricted)s, outbox_revision = %(outbox_revision)s, revision = revision + 1
WHERE user_id = %(author_id)s
RETURNING user_id, revision, followers, following, posts
"""  # noqa: S608 -- constants
_MENTION = """;
INSERT INTO posts_mention (post_id, author_id, user_id)
    SELECT %(id)s, %(author_id)s, unnest(%(mentioned)s::bigint[])
"""


class Written(NamedTuple):
    """The result of writing a post: the author's new counts, and the events to be dispatched after the commit."""

    counts: Row
    event_ids: list[int]


class Changed(NamedTuple):
    """A post after a change, or as it was before its deletion.

    `revision` is the new `outbox_revision` of its author; None if it did not change. `content` is the content of a
    post that the call has created; None for existing posts.
    """

    post: Post
    revision: int | None = None
    content: PostContent | None = None


def lock_author(author: User) -> UserCounts:
    """The author's counts row, locked: all writes of an author are serialised."""
    [(*columns, now)] = rows_of(_LOCK, {"author": author.pk})
    counts = _COUNTS.instance(columns)
    counts.locked_at = now
    return counts


def clock(counts: UserCounts) -> float:
    """PostgreSQL's Unix time when the row was locked.

    The clocks of web servers may be wrong. A post with tomorrow's date would stay above all others until tomorrow, and
    requests for newer posts would return nothing.
    """
    return counts.locked_at


def next_revision(post: Post, counts: UserCounts) -> int | None:
    """The `outbox_revision` after a change of this post, given the locked `counts`; None if it does not change.

    The revision covers the ids and contents of the author's open posts; restricted posts do not change it.
    """
    return counts.outbox_revision + 1 if post.visibility in OPEN else None


def insert(post: Post, counts: UserCounts, *, mentioned: Collection[int] = ()) -> Written:
    """Write the rows of a new post (`_INSERT`), and count it as a reply, repost or quote.

    Call it last, so that the counts of other posts are locked only briefly.
    """
    is_open = post.visibility in OPEN
    values = {
        **_POST.values(post),
        **recording("post_published", post_id=post.pk),
        "mentioned": list(mentioned),
        "counted": counted(post),
        "last_open_post_id": post.pk if is_open else counts.last_open_post_id,
        "wrote_restricted": counts.wrote_restricted or not is_open,
        "outbox_revision": next_revision(post, counts) or counts.outbox_revision,
    }
    statements = _INSERT + _MENTION if mentioned else _INSERT
    _post, _counts, events, [(author_id, revision, *numbers)], *_mentions = rows_of_each(
        statements, values
    )
    _count_links(post, +1)
    event_ids = [event_id for (event_id,) in events]
    return Written(Row(author_id, tuple(numbers), revision), event_ids)


def bury(post: Post, counts: UserCounts) -> Changed:
    """Mark a post as deleted: its row stays without text and content warning, and its revisions are deleted."""
    Post.objects.filter(pk=post.pk).update(
        deleted_at=Now(), version=F("version") + 1, body="", content_warning=""
    )
    Revision.objects.filter(post=post).delete()
    revision = next_revision(post, counts)
    changed = revision or counts.outbox_revision
    USER_COUNTS.change(counts.pk, {"posts": -counted(post)}, outbox_revision=changed)
    _count_links(post, -1)
    return Changed(post, revision)


def remove_quoted(post: Post, counts: UserCounts) -> Changed:
    """Remove the quoted post from a quote, which gets a new version. The post stays a quote, without a source."""
    if post.source_id is not None and counted(post):
        POST_COUNTS.change(post.source_id, {"quotes": -1})
    post.source_id = None
    return save_version(post, counts, ["source", "version"])


def save_version(post: Post, counts: UserCounts, columns: Collection[str]) -> Changed:
    """Save the given columns of a post, which include `version`, as a new version."""
    post.version += 1
    post.save(update_fields=columns)
    revision = next_revision(post, counts)
    if revision is not None:
        UserCounts.objects.filter(pk=counts.pk).update(outbox_revision=revision)
    return Changed(post, revision)


def counted(post: Post) -> int:
    """The amount that a post adds to public counts: 1 for open posts, 0 for others."""
    return 1 if post.visibility in OPEN else 0


def _count_links(post: Post, delta: int) -> None:
    """Add `delta` to the counts of the posts that an open post replies to, reposts or quotes."""
    if not counted(post):
        return
    shared_as = "reposts" if post.kind == Kind.REPOST else "quotes"
    links = [(post.reply_to_id, "replies"), (post.source_id, shared_as)]
    for target_id, column in sorted(
        (target, column) for target, column in links if target is not None
    ):
        POST_COUNTS.change(target_id, {column: delta})


def created_at(post_id: int, counts: UserCounts) -> datetime:
    """The date of a new post. The second is the one in the id; the milliseconds are only for display."""
    now = clock(counts)
    second = second_of(post_id)
    return datetime.fromtimestamp(now if int(now) == second else second, UTC)


def next_id(counts: UserCounts) -> int:
    """The id of the author's next post, given the locked `counts`."""
    return next_post_id(counts.pk, last_id=counts.last_post_id, now=int(clock(counts)))
