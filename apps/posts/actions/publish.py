"""Publishes, reposts and deletes posts. Locks the author's counts first, then those of posts."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from time import time

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.cache import change_user_counts
from apps.accounts.models import User, UserCounts
from apps.accounts.staff import is_permitted, log_action, require_permission
from apps.errors import NotAllowed, NotFound
from apps.events.actions import record
from apps.graph.queries import exact_relations
from apps.posts.actions import idempotency
from apps.posts.actions.attachments import attach, attach_uploads, detach
from apps.posts.actions.audience import audience
from apps.posts.actions.author import lock_author, mentioned, next_revision
from apps.posts.actions.drafts import Draft, check_mentions, clean_draft, invalid
from apps.posts.actions.polls import clear_poll, create_poll
from apps.posts.cache import updates
from apps.posts.cache.entries import change_post_counts
from apps.posts.content.post import PostContent
from apps.posts.content.text import tag_names
from apps.posts.models import (
    OPEN,
    IdempotencyKey,
    Kind,
    Mention,
    Post,
    PostCounts,
    Revision,
    Visibility,
)
from apps.posts.queries import visible_posts
from apps.tags.actions import drop_tags, write_tags
from apps.throttling import check_rate_limit
from feedcache.ids import next_post_id, second_of

DELETE_POSTS = "posts.delete_post"  # the admin's permission
APPLICATION_MAX_CHARACTERS, WEBSITE_MAX_CHARACTERS = 60, 200


def publish_post(
    author: User, draft: Draft, *, idempotency_key: str = "", content_digest: Sequence[str] = ()
) -> Post:
    """Publish a post: id, row, mentions, counts and event in one transaction, at a cost independent
    of the followers.

    The same idempotency key of the same author returns the first post (`idempotency`);
    `content_digest` then identifies the pictures. Invalid, NotFound, TooMany.
    """
    body = clean_draft(draft)
    request = idempotency.Request(author, idempotency_key, draft, pictures=content_digest)
    if (earlier := _existing_post(idempotency.existing_result(request))) is not None:
        return earlier
    check_rate_limit("publish", str(author.pk))
    parent = _target(author, draft.reply_to_id, _("The post you reply to is not there any more."))
    quoted = _quoted(author, draft.quote_of_id)
    mentions = mentioned(body)
    check_mentions(draft, set(mentions.values()) - {author.pk})
    with transaction.atomic():
        if (earlier := _existing_post(idempotency.claim(request))) is not None:
            return earlier
        counts = lock_author(author)
        post = _new_post(author, counts, draft, body, parent, quoted)
        _check_quoted_is_named(post, quoted, mentions.values())
        _insert(post)
        Mention.objects.bulk_create(
            Mention(post=post, user_id=user_id) for user_id in mentions.values()
        )
        idempotency.note(request, post=post)
        write_tags(post.pk, tag_names(body), is_public=post.visibility == Visibility.PUBLIC)
        pictures = [*attach(post, draft.pictures), *attach_uploads(post, draft.media_ids)]
        poll = create_poll(post, draft.poll) if draft.poll else None
        post.content = PostContent.of(post, pictures=pictures, mentions=mentions, poll=poll)
        updates.published(counts, post.content, quoted)
        _count_and_record(post, counts)
    _note_published(counts, post)
    author.counts = counts
    return post


def repost(author: User, post_id: int) -> Post:
    """Repost an open post, or the source of a repost; idempotent. NotFound, NotAllowed, TooMany."""
    source = _visible(author, post_id)
    if source.is_repost and source.source_id is not None:
        source = _visible(author, source.source_id)
    if not source.is_open:
        raise NotAllowed(_("Only public posts can be reposted."))
    check_rate_limit("publish", str(author.pk))
    with transaction.atomic():
        counts = lock_author(author)
        if (earlier := repost_of(author, source.id)) is not None:
            return earlier
        post = Post(id=_next_id(counts), author=author, kind=Kind.REPOST, source_id=source.id)
        post.thread_id = post.pk
        _insert(post)
        updates.published(counts, PostContent.of(post), source)
        _count_and_record(post, counts)
    return post


def repost_of(author: User, post_id: int) -> Post | None:
    return Post.objects.filter(
        author=author, source=post_id, kind=Kind.REPOST, deleted_at=None
    ).first()


def delete_post(post_id: int, *, by: User, keep_pictures: bool = False) -> Post:
    """Delete a post: from the next read on nobody sees it. The row stays as a tombstone without its
    text.

    Its pictures are deleted, or held a day for another post of an owner who deletes it. Returns the
    post as it was. Permissions and errors as for `require_deleter`.
    """
    owner = require_deleter(post_id, by=by)
    with transaction.atomic():
        counts = UserCounts.objects.select_for_update().get(pk=owner)
        post = Post.objects.select_for_update().get(pk=post_id)
        if post.deleted_at is not None:
            raise NotFound(_("This post isn't here."))
        Post.objects.filter(pk=post_id).update(
            deleted_at=timezone.now(), version=F("version") + 1, body="", content_warning=""
        )
        Revision.objects.filter(post=post).delete()
        change_user_counts(
            owner, {"posts": -_counted(post)}, outbox_revision=next_revision(post, counts)
        )
        _count_links(post, -1)
        updates.deleted(counts, post)
        detach(post, keep=keep_pictures and owner == by.pk)
        clear_poll(post)
        drop_tags(post_id)
        record("post_deleted", post_id=post_id)
        if owner != by.pk:
            log_action(by, post, _("Deleted."))
    return post


def require_deleter(post_id: int, *, by: User) -> int:
    """The author of a post, when `by` is the author or staff with the permission to delete posts;
    NotFound otherwise.

    NotAllowed when a superuser's post is deleted by staff who are not superusers.
    """
    owner = Post.objects.filter(pk=post_id).values_list("author", flat=True).first()
    if owner is None or (owner != by.pk and not is_permitted(by, DELETE_POSTS)):
        raise NotFound(_("This post isn't here."))
    if owner != by.pk:
        require_permission(by, DELETE_POSTS, over=User.objects.get(pk=owner))
    return owner


def delete_reposts_of(post_id: int, *, limit: int = 500) -> int:
    """Delete up to `limit` reposts of a deleted post, which readers skip; returns how many."""
    reposts = Post.objects.filter(source=post_id, kind=Kind.REPOST, deleted_at=None).select_related(
        "author"
    )[:limit]
    for number, post in enumerate(reposts, start=1):
        delete_post(post.pk, by=post.author)
        if number == limit:
            return limit
    return len(reposts)


def _new_post(
    author: User,
    counts: UserCounts,
    draft: Draft,
    body: str,
    parent: PostContent | None,
    quoted: PostContent | None,
) -> Post:
    """A new post, not saved yet."""
    visibility, circle_id = audience(author.pk, draft, parent)
    post = Post(
        id=_next_id(counts),
        author=author,
        kind=_kind(quoted, draft),
        body=body,
        content_warning=draft.content_warning.strip(),
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
    return post


def _insert(post: Post) -> None:
    post.created_at = _created_at(post.pk)
    post.save(force_insert=True)
    PostCounts.objects.create(post=post)


def _count_and_record(post: Post, counts: UserCounts) -> None:
    """The last step of a publication: counts of others' posts stay locked only for a moment."""
    is_open = post.visibility in OPEN
    change_user_counts(
        counts.pk,
        {"posts": _counted(post)},
        last_post_id=post.pk,
        last_open_post_id=post.pk if is_open else counts.last_open_post_id,
        wrote_restricted=counts.wrote_restricted or not is_open,
        outbox_revision=next_revision(post, counts),
    )
    _count_links(post, +1)
    record("post_published", post_id=post.pk)


def _note_published(counts: UserCounts, post: Post) -> None:
    """Set the counts to what the transaction has written."""
    counts.last_post_id = post.pk
    counts.posts += _counted(post)
    if post.visibility in OPEN:
        counts.last_open_post_id = post.pk
    else:
        counts.wrote_restricted = True


def _counted(post: Post) -> int:
    """What a post adds to public counts: only open posts count."""
    return 1 if post.visibility in OPEN else 0


def _count_links(post: Post, delta: int) -> None:
    if not _counted(post):
        return
    shared_as = "reposts" if post.kind == Kind.REPOST else "quotes"
    links = [(post.reply_to_id, "replies"), (post.source_id, shared_as)]
    for target_id, column in sorted(
        (target, column) for target, column in links if target is not None
    ):
        change_post_counts(target_id, {column: delta})


def _created_at(post_id: int) -> datetime:
    # the second is the id's, which the guard may move; milliseconds are only for display
    second, now = second_of(post_id), time()
    return datetime.fromtimestamp(now if int(now) == second else second, UTC)


def _next_id(counts: UserCounts) -> int:
    return next_post_id(counts.pk, last_id=counts.last_post_id, now=int(time()))


def _existing_post(key: IdempotencyKey | None) -> Post | None:
    """The post of an earlier request, marked as a repetition."""
    if key is None or key.post is None:
        return None
    key.post.is_repeated = True
    return key.post


def _target(author: User, post_id: int | None, missing: str) -> PostContent | None:
    if post_id is None:
        return None
    target = visible_posts(author.pk, [post_id])
    post = target.posts.get(post_id)
    if post is not None and post.is_repost and post.source_id is not None:
        post = target.posts.get(post.source_id)  # a reply to a repost answers its source
    if post is None:
        raise NotFound(missing)
    return post


def _quoted(author: User, post_id: int | None) -> PostContent | None:
    quoted = _target(author, post_id, _("The post you quote is not there any more."))
    if quoted is None or quoted.author_id == author.pk:
        return quoted
    if not quoted.is_open:
        raise NotAllowed(_("Only public posts can be quoted."))
    follows = quoted.author_id in exact_relations(author.pk, [quoted.author_id]).following
    if not quoted.may_be_quoted(own=False, follows=follows):
        raise NotAllowed(_("Its author does not let you quote this post."))
    return quoted


def _check_quoted_is_named(
    post: Post, quoted: PostContent | None, mentioned_ids: Collection[int]
) -> None:
    """Invalid for a post for mentioned people that quotes an account which it does not reach."""
    if quoted is None or post.visibility != Visibility.MENTIONED:
        return
    if quoted.author_id != post.author_id and quoted.author_id not in mentioned_ids:
        text = _("Mention whom you quote in a post for mentioned people.")
        raise invalid("quoted_status_id", text, "not_mentioned")


def _visible(viewer: User, post_id: int) -> PostContent:
    post = visible_posts(viewer.pk, [post_id]).posts.get(post_id)
    if post is None:
        raise NotFound(_("This post isn't here."))
    return post


def _kind(quoted: PostContent | None, draft: Draft) -> Kind:
    if quoted:
        return Kind.QUOTE
    return Kind.PICTURE if draft.pictures or draft.media_ids else Kind.TEXT
