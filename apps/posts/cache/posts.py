"""Heads of posts: one entry per post under a key without its version, so that a page knows all of it in one multi-get.

An entry is as good as a row of PostgreSQL (decision 0019) because whatever changes a post changes the entry after the
commit and before it is acknowledged: a publication adds it, an edit replaces what is older, a deletion leaves a tombstone
for good. A reader who loads what is missing loses to all of them. Should a writer die between commit and cache, nobody was
told that the change is done; the event of the change repairs the entry (`repair_edited` and its neighbours).
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

REPOSTS_KEPT = 500  # of a viewer: 4 KB at most, read with every page
GONE, RESTRICTED = CachedPost(State.GONE), CachedPost(State.RESTRICTED)


def load_cached_posts(post_ids: Collection[int]) -> dict[int, CachedPost]:
    """The heads of the posts that ever were, from PostgreSQL, in three queries, four with polls.

    The posts are read first: what an edit changes meanwhile can only join the old version, and the edit replaces it.
    """
    posts = list(_posts(post_ids).select_related("source"))
    heads = {post.pk: GONE if post.deleted_at else RESTRICTED for post in posts}
    shown = [post for post in posts if post.deleted_at is None and post.visibility in OPEN]
    for post, content in zip(shown, _contents(shown), strict=True):
        source = post.source if post.source and post.source.visibility in OPEN else None
        heads[post.pk] = cached_post_of(content, source)
    return heads


def cached_post_of(content: PostContent, source: Post | PostContent | None) -> CachedPost:
    """The head of an open post, with its source when that is open."""
    if source is None:
        return CachedPost(State.OPEN, content)
    return CachedPost(State.OPEN, content, source.source_id, source.reply_to_id)


def load_contents(post_ids: Collection[int]) -> dict[int, PostContent]:
    """The contents of posts that are not deleted, restricted ones too, from PostgreSQL, in three queries, four with polls."""
    posts = list(_posts(post_ids).filter(deleted_at=None))
    return {content.id: content for content in _contents(posts)}


def load_open(post_ids: Collection[int]) -> dict[int, PostContent]:
    """The contents of those of them that are open; for pages that hardly anybody reads: nothing is put into caches for them."""
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
    asking = [post.pk for post in posts if post.has_poll]
    polls = Poll.objects.in_bulk(asking) if asking else {}
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
    """The contents of open posts whose versions the caller has just read: of that version, or a newer one."""
    heads = CACHED_POSTS.get_many(
        versions, load_cached_posts, accept=lambda post_id, head: head.version >= versions[post_id]
    )
    return {post_id: head.content for post_id, head in heads.items() if head.content}


# -- after a change ------------------------------------------------------------------------------


def publishing(post_id: int) -> Callable[[CachedPost], None]:
    """In the transaction of a publication; what is returned keeps the head after the commit, unless something came since."""
    cache = tiers()
    (name,) = CACHED_POSTS.names([post_id], cache)
    nothing = cache.before_change([name])

    def keep(head: CachedPost) -> None:
        item = make(ItemKind.VALUE, CACHED_POSTS.encode(head), CACHED_POSTS.jittered_ttl())
        cache.fill(nothing, {name.encode(): item})

    return keep


def edited(content: PostContent) -> None:
    """After the commit of an edit. Of a quote the next reader loads the rest."""
    if content.source_id:
        _told(CACHED_POSTS.forget([content.id]), content.id)
        return
    head = CachedPost(State.OPEN, content)
    done = CACHED_POSTS.renew(
        content.id, head, is_older=lambda held: held.version < content.version
    )
    _told(done, content.id)


def deleted(post_id: int) -> None:
    """After the commit of a deletion. A tombstone for good, since nothing is newer."""
    CACHED_POSTS.set_many({post_id: GONE})
    _told(tiers().announce_missed(), post_id)


# -- the same again, by the events of changes whose writers may not have come to it -----------------


def repair_published(post_id: int) -> None:
    """Of a publication: a head that is not there is loaded, but what its author reposts is known."""
    if Post.objects.filter(pk=post_id, kind=Kind.REPOST).exists():
        REPOSTED.forget([author_of(post_id)])


def repair_edited(post_id: int) -> None:
    """Of an edit: what is not older than the row stays, in every layer."""
    head = load_cached_posts([post_id]).get(post_id)
    if head is not None:
        done = CACHED_POSTS.renew(post_id, head, is_older=lambda held: held.version <= head.version)
        _told(done, post_id)


def repair_deleted(post_id: int) -> None:
    """Of a deletion."""
    deleted(post_id)
    repair_published(post_id)


def _told(done: bool, post_id: int) -> None:  # noqa: FBT001 -- the only thing it is about
    if not done:
        logger.warning("post %s may be shown as it was until its event is handled", post_id)


# -- what a viewer reposts -----------------------------------------------------------------------


def load_reposted(user_ids: Collection[int]) -> dict[int, NewestIds]:
    """What users repost, of the newest posts, from PostgreSQL; one query each, of an index alone."""
    return {user_id: _reposted(user_id) for user_id in user_ids}


def _reposted(user_id: int) -> NewestIds:
    rows = Post.objects.filter(author=user_id, kind=Kind.REPOST, deleted_at=None)
    ids = [
        source_id
        for source_id in rows.order_by("-source").values_list("source", flat=True)[:REPOSTS_KEPT]
        if source_id is not None
    ]
    return NewestIds(frozenset(ids), ids[-1] if len(ids) == REPOSTS_KEPT else 0)


def is_another_day(counts: UserCounts, post_id: int) -> bool:
    """Whether an open post is its author's first of a day: cards tell the day of the last one."""
    return second_of(counts.last_open_post_id) // 86_400 != second_of(post_id) // 86_400
