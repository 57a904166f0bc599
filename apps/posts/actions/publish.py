"""Publishes, reposts and deletes posts. Always locks the author's counts before the counts of posts."""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.cache import USER_COUNTS
from apps.accounts.counts_store import put_writes
from apps.accounts.models import User, UserCounts
from apps.accounts.queries import user_ids_by_handle
from apps.accounts.staff import is_permitted, log_action, require_permission
from apps.errors import NotAllowed, NotFound
from apps.events.actions import dispatch_after_commit, record
from apps.graph.queries import exact_relations
from apps.posts import store
from apps.posts.actions import idempotency
from apps.posts.actions.attachments import attach, attach_uploads, detach, lock_uploads
from apps.posts.actions.drafts import (
    Draft,
    audience,
    check_mentions,
    check_quoted_is_named,
    clean_draft,
    kind_of,
)
from apps.posts.actions.polls import clear_poll, create_poll
from apps.posts.cache import cache_deleted, cache_published
from apps.posts.content.post import Picture, PostContent
from apps.posts.content.text import mentioned_handles, tag_names
from apps.posts.models import OPEN, Attachment, IdempotencyKey, Kind, Post
from apps.posts.queries import visible_source
from apps.posts.store import Changed
from apps.tags.actions import delete_tags, write_tags
from apps.texts import normalise
from apps.throttling import check_rate_limit
from feedcache.read_through import QueueWrites
from feedcache.structures.rate_limit import RateLimitResult

DELETE_POSTS = "posts.delete_post"  # Django creates this permission
APPLICATION_MAX_CHARACTERS, WEBSITE_MAX_CHARACTERS = 60, 200


def publish_post(
    author: User,
    draft: Draft,
    *,
    idempotency_key: str = "",
    content_digest: Sequence[str] = (),
    counted: RateLimitResult | None = None,
    more_writes: Callable[[Changed], Sequence[QueueWrites]] | None = None,
) -> Changed:
    """Publish a post: write its rows, counts and event in one transaction.

    If an author repeats an idempotency key, the first post is returned (`idempotency`); `content_digest` tells whether
    the files are the same, although new uploads have other ids. `counted` is the result of the rate limit check, if the
    caller has already made it. `more_writes` returns writes that are sent together with the writes to the caches, after
    the commit. The cost does not depend on the number of followers. Raises Invalid, NotFound, NotAllowed, Conflict or
    TooMany.
    """
    body = clean_draft(draft)
    request = idempotency.Request(author, idempotency_key, draft, pictures=content_digest)
    if (earlier := _existing_post(idempotency.existing_result(request))) is not None:
        return Changed(earlier)
    check_rate_limit("publish", str(author.pk), counted=counted)
    parent = _parent(author, draft.reply_to_id)
    quoted = _quoted(author, draft.quote_of_id)
    mentions = _mentioned(body)
    check_mentions(draft, set(mentions.values()) - {author.pk})
    with transaction.atomic():
        if (earlier := _existing_post(idempotency.claim(request))) is not None:
            return Changed(earlier)
        counts = store.lock_author(author)
        post = _new_post(author, counts, draft, body, parent, quoted)
        check_quoted_is_named(post, mentions.values())
        uploads = lock_uploads(author.pk, draft.media_ids) if draft.media_ids else []
        post.kind = _kind(quoted, draft, uploads)
        idempotency.note(request, post=post)
        if names := tag_names(body):
            write_tags(post.pk, names, is_public=post.has_public_tags)
        content = PostContent.of(
            post,
            pictures=_attach(post, draft, uploads) if draft.pictures or uploads else (),
            mentions=mentions,
            poll=create_poll(post, draft.poll) if draft.poll else None,
        )
        published = _insert(
            post, content, counts, quoted, mentioned=mentions.values(), more_writes=more_writes
        )
    _note_published(author, counts, post)
    return published


def repost(
    author: User,
    post_id: int,
    *,
    counted: RateLimitResult | None = None,
    more_writes: Callable[[Changed], Sequence[QueueWrites]] | None = None,
) -> Changed:
    """Repost an open post or, given a repost, its source; idempotent. For the other arguments, see `publish_post`.

    Raises NotFound, NotAllowed or TooMany.
    """
    source = visible_source(author.pk, post_id)
    if not source.is_open:
        raise NotAllowed(_("Only public posts can be reposted."))
    check_rate_limit("publish", str(author.pk), counted=counted)
    with transaction.atomic():
        counts = store.lock_author(author)
        if (earlier := repost_of(author, source.id)) is not None:
            return Changed(earlier)
        post = Post(id=store.next_id(counts), author=author, source_id=source.id)
        post.kind, post.thread_id = Kind.REPOST, post.pk
        post.created_at = store.created_at(post.pk, counts)
        return _insert(post, PostContent.of(post), counts, source, more_writes=more_writes)


def repost_of(author: User, post_id: int) -> Post | None:
    return Post.objects.filter(
        author=author, source=post_id, kind=Kind.REPOST, deleted_at=None
    ).first()


def delete_post(post_id: int, *, by: User, keep_pictures: bool = False) -> Changed:
    """Delete a post, so that the next read no longer shows it. The row stays as a tombstone without the text.

    Its pictures are deleted. If its author deletes it with `keep_pictures`, they stay for a day, for use in a new post.
    Returns the post as it was before. The permissions and errors are those of `require_deleter`.
    """
    owner = require_deleter(post_id, by=by)
    with transaction.atomic():
        counts = UserCounts.objects.select_for_update().get(pk=owner)
        return _delete(counts, post_id, by=by, keep_pictures=keep_pictures)


def _delete(counts: UserCounts, post_id: int, *, by: User, keep_pictures: bool) -> Changed:
    """Delete a post, in the transaction that has locked the author's counts."""
    owner = counts.pk
    post = Post.objects.select_for_update().get(pk=post_id)
    if post.deleted_at is not None:
        raise NotFound(_("This post isn't here."))
    changed = store.bury(post, counts)
    cache_deleted(counts, post)
    detach(post, keep=keep_pictures and owner == by.pk)
    clear_poll(post)
    delete_tags(post_id)
    record("post_deleted", post_id=post_id)
    if owner != by.pk:
        log_action(by, post, _("Deleted."))
    return changed


def require_deleter(post_id: int, *, by: User) -> int:
    """The author of a post, if `by` is the author or staff with the permission to delete posts.

    Otherwise raises NotFound; NotAllowed for permitted staff if the author is a superuser and `by` is not.
    """
    owner = Post.objects.filter(pk=post_id).values_list("author", flat=True).first()
    if owner is None or (owner != by.pk and not is_permitted(by, DELETE_POSTS)):
        raise NotFound(_("This post isn't here."))
    if owner != by.pk:
        require_permission(by, DELETE_POSTS, over=User.objects.get(pk=owner))
    return owner


def delete_reposts_of(post_id: int, *, limit: int) -> int:
    """Delete up to `limit` reposts of a deleted post, which are already hidden from readers. Returns their number."""
    reposts = Post.objects.filter(source=post_id, kind=Kind.REPOST, deleted_at=None).select_related(
        "author"
    )[:limit]
    for post in reposts:
        with suppress(NotFound):  # the author has just deleted it
            delete_post(post.pk, by=post.author)
    return len(reposts)


def _new_post(
    author: User,
    counts: UserCounts,
    draft: Draft,
    body: str,
    parent: PostContent | None,
    quoted: PostContent | None,
) -> Post:
    """A new post as an unsaved row, without its kind."""
    visibility, circle_id = audience(author.pk, draft, parent)
    post = Post(
        id=store.next_id(counts),
        author=author,
        body=body,
        content_warning=normalise(draft.content_warning),
        sensitive=draft.sensitive,
        has_poll=draft.poll is not None,
        language=draft.language,
        application=draft.application[:APPLICATION_MAX_CHARACTERS],
        website=draft.website if len(draft.website) <= WEBSITE_MAX_CHARACTERS else "",
        visibility=visibility,
        quote_policy=draft.quote_policy,
        circle_id=circle_id,
        source_id=quoted.id if quoted else None,
        reply_to_id=parent.id if parent else None,
    )
    post.thread_id = parent.thread_id if parent else post.pk
    post.created_at = store.created_at(post.pk, counts)
    return post


def _attach(post: Post, draft: Draft, uploads: Sequence[Attachment]) -> list[Picture]:
    return [*attach(post, draft.pictures), *attach_uploads(post, uploads)]


def _insert(
    post: Post,
    content: PostContent,
    counts: UserCounts,
    source: PostContent | None,
    *,
    mentioned: Collection[int] = (),
    more_writes: Callable[[Changed], Sequence[QueueWrites]] | None,
) -> Changed:
    """Insert a post. After the commit, its caches are updated; `more_writes` share a round trip with the new counts."""
    written = store.insert(post, counts, mentioned=mentioned)
    published = Changed(post, store.next_revision(post, counts), content)
    writes = [put_writes(USER_COUNTS, written.counts)]
    if more_writes:
        writes += more_writes(published)
    cache_published(counts, content, source, writes)
    dispatch_after_commit(written.event_ids)
    return published


def _note_published(author: User, counts: UserCounts, post: Post) -> None:
    """Update the counts of the object `author` to the values that the transaction has written, except the revisions."""
    counts.last_post_id = post.pk
    counts.posts += store.counted(post)
    if post.visibility in OPEN:
        counts.last_open_post_id = post.pk
    else:
        counts.wrote_restricted = True
    author.counts = counts


def _existing_post(key: IdempotencyKey | None) -> Post | None:
    """The post of an earlier request; None if there was no such request."""
    return key.post if key else None


def _mentioned(body: str) -> dict[str, int]:
    """The ids of the accounts that a text mentions, by handle; no query if it mentions nobody."""
    handles = mentioned_handles(body)
    return user_ids_by_handle(handles) if handles else {}


def _parent(author: User, post_id: int | None) -> PostContent | None:
    if post_id is None:
        return None
    missing = _("The post you reply to no longer exists.")
    return visible_source(author.pk, post_id, missing=missing)


def _quoted(author: User, post_id: int | None) -> PostContent | None:
    if post_id is None:
        return None
    missing = _("The post you quote no longer exists.")
    quoted = visible_source(author.pk, post_id, missing=missing)
    if quoted.author_id == author.pk:
        return quoted
    if not quoted.is_open:
        raise NotAllowed(_("Only public posts can be quoted."))
    follows = quoted.author_id in exact_relations(author.pk, [quoted.author_id]).following
    if not quoted.may_be_quoted(own=False, follows=follows):
        raise NotAllowed(_("Its author does not let you quote this post."))
    return quoted


def _kind(quoted: PostContent | None, draft: Draft, uploads: Sequence[Attachment]) -> Kind:
    if quoted:
        return Kind.QUOTE
    if draft.pictures:
        return Kind.PICTURE
    return kind_of([row.medium for row in uploads])
