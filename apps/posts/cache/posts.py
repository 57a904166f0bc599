"""Cache entries of posts, one per post under a key without its version, so that one multi-get reads
a page.

An entry is as current as a row of PostgreSQL (decision 0019) because every change of a post changes
its entry after the commit and before it is acknowledged: a publication adds it, an edit replaces an
older one, a deletion leaves a tombstone for good. A reader that loads a missing entry loses to all
of them. If a writer dies between the commit and the cache, the change was not acknowledged yet, and
its event repairs the entry (`repair_edited` and its neighbours).
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

from django.db.models import QuerySet

from apps.accounts.models import UserCounts
from apps.posts.cache.entries import CACHED_POSTS, REPOSTED
from apps.posts.content.post import CachedPost, NewestIds, Picture, PostContent, State
from apps.posts.models import OPEN, Attachment, Kind, Mention, Poll, Post
from feedcache.ids import author_of, is_possible, second_of
from feedcache.memcached.layer import make
from feedcache.memcached.protocol import Kind as ItemKind
from feedcache.memcached.tiers import tiers

logger = logging.getLogger(__name__)

MAX_REPOSTED = 500  # per viewer: 4 KB at most, read with every page
GONE, RESTRICTED = CachedPost(State.GONE), CachedPost(State.RESTRICTED)


def load_cached_posts(post_ids: Collection[int]) -> dict[int, CachedPost]:
    """The entries of all posts that ever existed, from PostgreSQL: three queries, four with polls.

    The posts are read first: a concurrent edit can only join the old version, and then replaces the
    entry.
    """
    posts = list(_posts(post_ids).select_related("source"))
    entries = {post.pk: GONE if post.deleted_at else RESTRICTED for post in posts}
    open_posts = [post for post in posts if post.deleted_at is None and post.visibility in OPEN]
    for post, content in zip(open_posts, _contents(open_posts), strict=True):
        source = post.source if post.source and post.source.visibility in OPEN else None
        entries[post.pk] = cached_post_of(content, source)
    return entries


def cached_post_of(content: PostContent, source: Post | PostContent | None) -> CachedPost:
    """The entry of an open post, with its source when that is open."""
    if source is None:
        return CachedPost(State.OPEN, content)
    return CachedPost(State.OPEN, content, source.source_id, source.reply_to_id)


def load_contents(post_ids: Collection[int]) -> dict[int, PostContent]:
    """Contents of existing posts, restricted ones too, in three queries, four with polls."""
    posts = list(_posts(post_ids).filter(deleted_at=None))
    return {content.id: content for content in _contents(posts)}


def load_open(post_ids: Collection[int]) -> dict[int, PostContent]:
    """Contents of open posts from PostgreSQL, not cached: for rarely read pages."""
    posts = list(_posts(post_ids).filter(deleted_at=None, visibility__in=OPEN))
    return {content.id: content for content in _contents(posts)}


def _posts(post_ids: Collection[int]) -> QuerySet[Post]:
    return Post.objects.filter(pk__in=list(filter(is_possible, post_ids)))


def _contents(posts: list[Post]) -> list[PostContent]:
    ids = [post.pk for post in posts]
    if not ids:
        return []
    pictures: dict[int, list[Picture]] = defaultdict(list)
    for attachment in Attachment.objects.filter(post__in=ids).order_by("post_id", "position"):
        pictures[attachment.post_id or 0].append(Picture.of(attachment))
    mentions: dict[int, dict[str, int]] = defaultdict(dict)
    named = Mention.objects.filter(post__in=ids).values_list("post", "user__handle", "user")
    for post_id, handle, user_id in named:
        mentions[post_id][handle] = user_id
    with_poll = [post.pk for post in posts if post.has_poll]
    polls = Poll.objects.in_bulk(with_poll) if with_poll else {}
    return [
        PostContent.of(
            post,
            pictures=pictures[post.pk],
            mentions=mentions[post.pk],
            poll=polls.get(post.pk),
        )
        for post in posts
    ]


def open_contents(versions: Mapping[int, int]) -> dict[int, PostContent]:
    """Contents of open posts, of the versions that the caller has just read or newer."""
    entries = CACHED_POSTS.get_many(
        versions,
        load_cached_posts,
        accept=lambda post_id, entry: entry.version >= versions[post_id],
    )
    return {post_id: entry.content for post_id, entry in entries.items() if entry.content}


# -- after a change ------------------------------------------------------------------------------


def prepare_entry(post_id: int) -> Callable[[CachedPost], None]:
    """Call in the transaction of a publication; returns a callback for after the commit.

    The callback stores the entry unless another change came first.
    """
    cache = tiers()
    (name,) = CACHED_POSTS.names([post_id], cache)
    token = cache.before_change([name])

    def store(entry: CachedPost) -> None:
        item = make(ItemKind.VALUE, CACHED_POSTS.encode(entry), CACHED_POSTS.jittered_ttl())
        cache.fill(token, {name.encode(): item})

    return store


def edited(content: PostContent) -> None:
    """After the commit of an edit. The next reader loads the source of a quote."""
    if content.source_id:
        _warn_unless(CACHED_POSTS.forget([content.id]), content.id)
        return
    entry = CachedPost(State.OPEN, content)
    is_updated = CACHED_POSTS.renew(
        content.id, entry, is_older=lambda entry: entry.version < content.version
    )
    _warn_unless(is_updated, content.id)


def deleted(post_id: int) -> None:
    """After the commit of a deletion: a tombstone, which nothing newer replaces."""
    CACHED_POSTS.set_many({post_id: GONE})
    _warn_unless(tiers().announce_missed(), post_id)


# -- by the events of changes whose writers may have died before the cache -----------------------


def repair_published(post_id: int) -> None:
    """The next reader loads a missing entry; the author's list of reposts must be forgotten."""
    if Post.objects.filter(pk=post_id, kind=Kind.REPOST).exists():
        REPOSTED.forget([author_of(post_id)])


def repair_edited(post_id: int) -> None:
    """Replace what is older than the row in every layer."""
    entry = load_cached_posts([post_id]).get(post_id)
    if entry is not None:
        is_updated = CACHED_POSTS.renew(
            post_id, entry, is_older=lambda cached: cached.version <= entry.version
        )
        _warn_unless(is_updated, post_id)


def repair_deleted(post_id: int) -> None:
    deleted(post_id)
    repair_published(post_id)


def _warn_unless(is_updated: bool, post_id: int) -> None:  # noqa: FBT001 -- its subject
    if not is_updated:
        logger.warning("post %s may be shown as it was until its event is handled", post_id)


# -- a viewer's reposts --------------------------------------------------------------------------


def load_reposted(user_ids: Collection[int]) -> dict[int, NewestIds]:
    """The newest posts that users reposted, from PostgreSQL; one index-only query for each user."""
    return {user_id: _reposted(user_id) for user_id in user_ids}


def _reposted(user_id: int) -> NewestIds:
    rows = Post.objects.filter(author=user_id, kind=Kind.REPOST, deleted_at=None)
    ids = [
        source_id
        for source_id in rows.order_by("-source").values_list("source", flat=True)[:MAX_REPOSTED]
        if source_id is not None
    ]
    return NewestIds(frozenset(ids), ids[-1] if len(ids) == MAX_REPOSTED else 0)


def is_first_of_day(counts: UserCounts, post_id: int) -> bool:
    """Whether an open post is its author's first of a day: cards show the day of the last one."""
    return second_of(counts.last_open_post_id) // 86_400 != second_of(post_id) // 86_400
