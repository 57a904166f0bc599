"""Changes to a published post, by its author (text, labels, the pin on the profile) and by staff.

Every change makes a new version, so that no cache can show the old one. An edit stores the old version as a revision
(unless only the end of a poll changes).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.accounts.queries import user_ids_by_handle
from apps.errors import Invalid, NotFound
from apps.events.actions import record
from apps.posts import store
from apps.posts.actions.attachments import pictures_of, rearrange
from apps.posts.actions.drafts import (
    PictureChange,
    PollDraft,
    check_labels,
    check_picture,
    check_poll,
    check_quote_policy,
    check_quoted_is_named,
    check_unique,
    clean_body,
    kind_of,
)
from apps.posts.actions.polls import poll_of, replace_poll
from apps.posts.cache import cache_edited, cache_hidden
from apps.posts.content.post import Picture, PostContent
from apps.posts.content.text import mentioned_handles, tag_names
from apps.posts.models import Kind, Mention, Post, Revision, Visibility
from apps.posts.queries import mentions_of
from apps.posts.store import Changed
from apps.tags.actions import publish_tags, rewrite_tags
from apps.texts import normalise
from apps.throttling import check_rate_limit

_COLUMNS = [
    "body",
    "kind",
    "content_warning",
    "sensitive",
    "is_marked_sensitive",
    "has_poll",
    "language",
    "quote_policy",
    "version",
    "edited_at",
    "pinned_at",
]


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of an edit other than the text; None leaves a value unchanged.

    `media_ids` are in display order; a different `poll` replaces the old one.
    """

    content_warning: str | None = None
    sensitive: bool | None = None
    language: str | None = None
    media_ids: Sequence[int] | None = None
    pictures: Sequence[PictureChange] = ()
    poll: PollDraft | None = None
    quote_policy: str | None = None


def edit_post(author: User, post_id: int, *, body: str, **changes: Any) -> Changed:
    """Change the text of one's own post, and apply the given `Changes`. Does nothing if nothing would change.

    Raises Invalid, NotFound or TooMany.
    """
    edit = Changes(**changes)
    check_rate_limit("publish", str(author.pk))
    with _own(author, post_id) as (counts, post):
        pictures = pictures_of(post)
        revision, before = _revision(post, pictures), _parts(post, pictures)
        check_unique(edit.media_ids or ())
        for change in edit.pictures:
            check_picture(change.alt, change.focus)
        pictures = rearrange(post, edit.media_ids, edit.pictures)
        post.body = clean_body(body, required=not pictures, visibility=post.visibility)
        _relabel(post, edit, pictures)
        if edit.poll is not None:
            _replace_poll(post, edit.poll)
        mentions = user_ids_by_handle(mentioned_handles(post.body))
        if _parts(post, pictures) == before:
            if edit.poll is not None:  # only the end of the poll can differ
                record("post_changed", post_id=post.pk)
                return _save_version(counts, post, pictures, mentions)
            return Changed(post)
        check_quoted_is_named(post, mentions.values())
        revision.save(force_insert=True)
        post.edited_at = datetime.fromtimestamp(store.clock(counts), UTC)
        added = _update_mentions(post, list(mentions.values()))
        rewrite_tags(post.pk, tag_names(post.body), is_public=post.has_public_tags)
        changed = _save_version(counts, post, pictures, mentions)
        record("post_edited", post_id=post.pk, mentioned=sorted(added))
    return changed


def pin_post(author: User, post_id: int) -> Post:
    """Pin one of one's own posts to the profile; idempotent. Raises Invalid or NotFound."""
    with _own(author, post_id) as (counts, post):
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
    """Unpin a post; idempotent. Raises NotFound."""
    with _own(author, post_id) as (counts, post):
        if post.pinned_at is not None:
            post.pinned_at = None
            _repin(counts, post)
    return post


def set_quote_policy(author: User, post_id: int, policy: str) -> Changed:
    """Set who may quote one's own post from now on; existing quotes stay. Raises Invalid or NotFound."""
    check_quote_policy(policy)
    with _own(author, post_id) as (counts, post):
        if post.quote_policy == policy:
            return Changed(post)
        post.quote_policy = policy
        record("post_changed", post_id=post.pk)
        return _new_version(counts, post)


def hide(author: User, post_id: int, *, is_hidden: bool) -> Changed:
    """For staff (`apps.moderation.actions`): hide a post from everybody except its author, or show it again. The
    counts of replies and reposts do not change. Idempotent. Raises NotFound.
    """
    with _own(author, post_id) as (counts, post):
        if (post.hidden_at is not None) == is_hidden:
            return Changed(post)
        post.hidden_at = timezone.now() if is_hidden else None
        changed = store.save_version(post, counts, ["hidden_at", "version"])
        publish_tags(post.pk, is_public=post.has_public_tags)
        pictures, mentions = pictures_of(post), mentions_of(post)
        content = PostContent.of(post, pictures=pictures, mentions=mentions, poll=poll_of(post))
        cache_hidden(counts, content)
        record("post_hidden", post_id=post.pk)
        return changed


def mark_sensitive(author: User, post_id: int, *, is_marked: bool) -> Changed:
    """For staff (`apps.moderation.actions`): mark a post as sensitive, whatever its author chose, or remove this mark.
    The pictures of a marked post are hidden behind a button. Idempotent. Raises NotFound.
    """
    with _own(author, post_id) as (counts, post):
        if post.is_marked_sensitive == is_marked:
            return Changed(post)
        post.is_marked_sensitive = is_marked
        record("post_changed", post_id=post.pk)
        return _new_version(counts, post)


@contextmanager
def _own(author: User, post_id: int) -> Iterator[tuple[UserCounts, Post]]:
    """A transaction for a change to one's own post. Locks and yields the author's counts and the post.

    Raises NotFound for reposts, for deleted posts, and for another author's posts.
    """
    with transaction.atomic():
        counts = store.lock_author(author)
        yield counts, _locked(author, post_id)


def _locked(author: User, post_id: int) -> Post:
    rows = Post.objects.select_for_update().filter(pk=post_id, author=author, deleted_at=None)
    post = rows.exclude(kind=Kind.REPOST).first()
    if post is None:
        raise NotFound(_("This post isn't here."))
    return post


def _relabel(post: Post, edit: Changes, pictures: list[Picture]) -> None:
    warning = post.content_warning if edit.content_warning is None else edit.content_warning
    check_labels(post.visibility, warning, len(pictures))
    post.content_warning = normalise(warning)
    if edit.quote_policy is not None:
        check_quote_policy(edit.quote_policy)
        post.quote_policy = edit.quote_policy
    # forms and API clients see a post marked by staff as `sensitive` and send this back: the author did not choose it
    if edit.sensitive is not None and not post.is_marked_sensitive:
        post.sensitive = edit.sensitive
    post.language = post.language if edit.language is None else edit.language
    if post.kind != Kind.QUOTE:
        post.kind = kind_of([picture.medium for picture in pictures])


def _replace_poll(post: Post, draft: PollDraft) -> None:
    check_poll(draft)
    replace_poll(post, draft)
    post.has_poll = True


def _repin(counts: UserCounts, post: Post) -> None:
    _new_version(counts, post)
    record("post_pinned", post_id=post.pk)


def _new_version(counts: UserCounts, post: Post) -> Changed:
    """Save a new version, for changes that do not affect text, pictures or poll."""
    return _save_version(counts, post, pictures_of(post), mentions_of(post))


def _save_version(
    counts: UserCounts, post: Post, pictures: list[Picture], mentions: dict[str, int]
) -> Changed:
    """Save a new version of a post, and update the caches."""
    changed = store.save_version(post, counts, _COLUMNS)
    content = PostContent.of(post, pictures=pictures, mentions=mentions, poll=poll_of(post))
    cache_edited(counts, content)
    return changed


def _parts(post: Post, pictures: list[Picture]) -> tuple[Any, ...]:
    """All parts of a post that readers see and an edit may change, except the end of the poll."""
    labels = (post.body, post.content_warning, post.sensitive, post.language, post.quote_policy)
    poll = poll_of(post)
    question = (poll.pk, poll.options, poll.multiple, poll.hide_totals) if poll else None
    shown = [(picture.id, picture.alt, picture.focus_x, picture.focus_y) for picture in pictures]
    return labels, shown, question


def _revision(post: Post, pictures: list[Picture]) -> Revision:
    """The version before an edit, as an unsaved row."""
    return Revision(
        post=post,
        version=post.version,
        body=post.body,
        content_warning=post.content_warning,
        sensitive=post.sensitive,
        pictures=[[picture.id, picture.alt] for picture in pictures],
        created_at=post.edited_at or post.created_at,
    )


def _update_mentions(post: Post, user_ids: list[int]) -> set[int]:
    """Store the users that the text mentions, in order. Returns those that the previous version did not mention."""
    before = list(mentions_of(post).values())
    if user_ids != before:
        Mention.objects.filter(post=post).delete()
        Mention.objects.bulk_create(Mention(post=post, user_id=user_id) for user_id in user_ids)
    return set(user_ids) - set(before)


def _cannot_pin(message: str) -> Invalid:
    return Invalid(message, code="cannot_pin")
