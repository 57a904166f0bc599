"""Changes of a post that is published: its text, its labels, its place on the author's profile.

Every change makes a new version, so no cache can show the old one. What an edit replaces is kept as a revision.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.errors import Invalid, NotFound
from apps.events.actions import record
from apps.posts.actions.attachments import pictures_of, rearrange
from apps.posts.actions.author import lock_author, mentioned, next_revision
from apps.posts.actions.drafts import (
    PictureChange,
    PollDraft,
    check_labels,
    check_once,
    check_picture,
    check_poll,
    check_quote_policy,
    checked_body,
    invalid,
)
from apps.posts.actions.polls import ask_anew, poll_of
from apps.posts.cache import updates
from apps.posts.content.post import Picture, PostContent
from apps.posts.content.text import tag_names
from apps.posts.models import Kind, Mention, Post, Revision, Visibility
from apps.tags.actions import rewrite_tags
from apps.throttling import check_rate_limit

_CHANGES = [
    "body", "kind", "content_warning", "sensitive", "has_poll", "language", "quote_policy", "version", "edited_at", "pinned_at",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Changes:
    """What an edit changes beside the text; None: nothing. Of `media_ids` the order counts; `poll` may be asked anew."""

    content_warning: str | None = None
    sensitive: bool | None = None
    language: str | None = None
    media_ids: Sequence[int] | None = None
    pictures: Sequence[PictureChange] = ()
    poll: PollDraft | None = None
    quote_policy: str | None = None


def edit_post(author: User, post_id: int, *, body: str, **changes: Any) -> Post:
    """Change the text of one's own post, and what else is given (`Changes`). Invalid, NotFound, TooMany."""
    asked = Changes(**changes)
    check_rate_limit("publish", str(author.pk))
    with transaction.atomic():
        counts = lock_author(author)
        post = _own(author, post_id)
        _keep_revision(post, pictures_of(post))
        check_once(asked.media_ids or ())
        for change in asked.pictures:
            check_picture(change.alt, change.focus)
        pictures = rearrange(post, asked.media_ids, asked.pictures)
        post.body = checked_body(body, required=not pictures)
        _relabel(post, asked, pictures)
        if asked.poll is not None:
            _ask_anew(post, asked.poll, pictures)
        post.edited_at = timezone.now()
        named = mentioned(post.body)
        _name(post, set(named.values()))
        is_public = post.visibility == Visibility.PUBLIC
        rewrite_tags(post.pk, tag_names(post.body), is_public=is_public)
        _changed(counts, post, pictures, named)
        record("post_edited", post_id=post.pk)
    return post


def pin_post(author: User, post_id: int) -> Post:
    """Put one of one's own posts at the top of one's profile; twice is once. Invalid, NotFound."""
    with transaction.atomic():
        counts = lock_author(author)
        post = _own(author, post_id)
        if post.visibility == Visibility.MENTIONED:
            raise _cannot_pin(_("A post for mentioned people cannot be pinned."))
        if post.pinned_at is None:
            pinned = Post.objects.filter(author=author, deleted_at=None).exclude(pinned_at=None)
            if pinned.count() >= settings.PINNED_POSTS_MAX:
                maximum = {"count": settings.PINNED_POSTS_MAX}
                raise _cannot_pin(_("At most %(count)d posts can be pinned.") % maximum)
            post.pinned_at = timezone.now()
            _repin(counts, post)
    return post


def unpin_post(author: User, post_id: int) -> Post:
    """Take a post from the top of one's profile; nothing happens when it is not there. NotFound."""
    with transaction.atomic():
        counts = lock_author(author)
        post = _own(author, post_id)
        if post.pinned_at is not None:
            post.pinned_at = None
            _repin(counts, post)
    return post


def set_quote_policy(author: User, post_id: int, policy: str) -> Post:
    """Choose who may quote one's own post from now on; quotes that are there stay. Invalid, NotFound."""
    check_quote_policy(policy)
    with transaction.atomic():
        counts = lock_author(author)
        post = _own(author, post_id)
        if post.quote_policy != policy:
            post.quote_policy = policy
            _new_version(counts, post)
    return post


def _own(author: User, post_id: int) -> Post:
    rows = Post.objects.select_for_update().filter(pk=post_id, author=author, deleted_at=None)
    post = rows.exclude(kind=Kind.REPOST).first()
    if post is None:
        raise NotFound(_("This post isn't here."))
    return post


def _relabel(post: Post, asked: Changes, pictures: list[Picture]) -> None:
    warning = post.content_warning if asked.content_warning is None else asked.content_warning
    check_labels(post.visibility, warning, len(pictures))
    post.content_warning = warning.strip()
    if asked.quote_policy is not None:
        check_quote_policy(asked.quote_policy)
        post.quote_policy = asked.quote_policy
    post.sensitive = post.sensitive if asked.sensitive is None else asked.sensitive
    post.language = post.language if asked.language is None else asked.language
    if post.kind in {Kind.TEXT, Kind.PICTURE}:
        post.kind = Kind.PICTURE if pictures else Kind.TEXT


def _ask_anew(post: Post, draft: PollDraft, pictures: list[Picture]) -> None:
    if pictures:
        raise invalid("poll", _("A post has pictures or a poll, not both."), "not_allowed")
    check_poll(draft)
    ask_anew(post, draft)
    post.has_poll = True


def _repin(counts: UserCounts, post: Post) -> None:
    _new_version(counts, post)
    record("post_pinned", post_id=post.pk)


def _new_version(counts: UserCounts, post: Post) -> None:
    """Of a post whose text, pictures and poll stay as they are."""
    named = dict(Mention.objects.filter(post=post).values_list("user__handle", "user"))
    _changed(counts, post, pictures_of(post), named)


def _changed(
    counts: UserCounts, post: Post, pictures: list[Picture], named: dict[str, int]
) -> None:
    """Write a new version of a post, and tell the caches of its content."""
    post.version += 1
    post.save(update_fields=_CHANGES)
    UserCounts.objects.filter(pk=counts.pk).update(outbox_revision=next_revision(post, counts))
    content = PostContent.of(post, pictures=pictures, mentions=named, poll=poll_of(post))
    updates.edited(counts, content)


def _keep_revision(post: Post, pictures: list[Picture]) -> None:
    Revision.objects.create(
        post=post,
        version=post.version,
        body=post.body,
        content_warning=post.content_warning,
        sensitive=post.sensitive,
        pictures=[[picture.id, picture.alt] for picture in pictures],
        created_at=post.edited_at or post.created_at,
    )


def _name(post: Post, user_ids: set[int]) -> None:
    Mention.objects.filter(post=post).exclude(user__in=user_ids).delete()
    Mention.objects.bulk_create(
        (Mention(post=post, user_id=user_id) for user_id in user_ids), ignore_conflicts=True
    )


def _cannot_pin(message: str) -> Invalid:
    return Invalid(message, code="cannot_pin")
