"""Changes of a post that is published: its text, its labels, its place on the author's profile.

Every change makes a new version, so no cache can show the old one. What an edit replaces is kept as a revision.
"""

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.limits import count_or_refuse
from apps.accounts.models import User, UserCounts
from apps.events.actions import record
from apps.posts import upkeep
from apps.posts.attachments import pictures_of
from apps.posts.author import lock_author, mentioned, next_revision
from apps.posts.content import Picture, PostContent
from apps.posts.drafts import check_labels, checked_body
from apps.posts.models import Kind, Mention, Post, Revision, Visibility
from apps.posts.text import tag_names
from apps.refusals import Invalid, NotFound
from apps.tags.actions import rewrite_tags

_CHANGES = [
    "body", "content_warning", "sensitive", "language", "version", "edited_at", "pinned_at",
]  # fmt: skip


def edit_post(
    author: User,
    post_id: int,
    *,
    body: str,
    content_warning: str | None = None,
    sensitive: bool | None = None,
    language: str | None = None,
) -> Post:
    """Change the text of one's own post, and those of its labels that are given. Invalid, NotFound, TooMany."""
    count_or_refuse("publish", str(author.pk))
    with transaction.atomic():
        counts = lock_author(author)
        post = _own(author, post_id)
        pictures = pictures_of(post)
        _keep_revision(post, pictures)
        post.body = checked_body(body, required=not pictures)
        if content_warning is not None:
            check_labels(post.visibility, content_warning, 0)
            post.content_warning = content_warning.strip()
        post.sensitive = post.sensitive if sensitive is None else sensitive
        post.language = post.language if language is None else language
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
                most = {"count": settings.PINNED_POSTS_MAX}
                raise _cannot_pin(_("At most %(count)d posts can be pinned.") % most)
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


def _own(author: User, post_id: int) -> Post:
    rows = Post.objects.select_for_update().filter(pk=post_id, author=author, deleted_at=None)
    post = rows.exclude(kind=Kind.REPOST).first()
    if post is None:
        raise NotFound(_("This post isn't here."))
    return post


def _repin(counts: UserCounts, post: Post) -> None:
    named = dict(Mention.objects.filter(post=post).values_list("user__handle", "user"))
    _changed(counts, post, pictures_of(post), named)
    record("post_pinned", post_id=post.pk)


def _changed(
    counts: UserCounts, post: Post, pictures: list[Picture], named: dict[str, int]
) -> None:
    """Write a new version of a post, and tell the caches of its content."""
    post.version += 1
    post.save(update_fields=_CHANGES)
    UserCounts.objects.filter(pk=counts.pk).update(outbox_revision=next_revision(post, counts))
    upkeep.edited(counts, PostContent.of(post, pictures=pictures, mentions=named))


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
