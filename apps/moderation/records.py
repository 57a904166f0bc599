"""The records that staff read before a decision: the reported posts, then and now, and the history of an account."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType

from apps.accounts.models import User
from apps.moderation.models import Report
from apps.posts.models import Attachment, Post, Revision

MAX_SHOWN = 10  # rows of each kind of record


@dataclass(frozen=True, slots=True)
class Version:
    """A post as it was from `since` on."""

    text: str
    warning: str
    pictures: Sequence[Attachment]
    since: datetime


@dataclass(frozen=True, slots=True)
class ReportedPost:
    """A reported post. `then` is the reported version; None if that is the current one, or the post is deleted."""

    post: Post
    now: Version
    then: Version | None


@dataclass(frozen=True, slots=True)
class AccountRecord:
    reports: Sequence[Report]
    acts: Sequence[LogEntry]  # actions of staff on the account
    posts: Sequence[Post]


def reported_posts(report: Report) -> list[ReportedPost]:
    """The posts of a report. The number of queries does not depend on the number of posts."""
    ids = [row.post_id for row in report.posts.all()]
    posts = Post.objects.filter(pk__in=ids).select_related("author").order_by("pk")
    revisions: dict[int, list[Revision]] = {}
    for revision in Revision.objects.filter(post__in=ids).order_by("version"):
        revisions.setdefault(revision.post_id, []).append(revision)
    pictures = list(Attachment.objects.filter(post__in=ids).order_by("position"))
    former = Attachment.objects.filter(past_post_id__in=ids)
    known = {row.pk: row for row in (*pictures, *former)}
    found = []
    for post in posts:
        shown = [row for row in pictures if row.post_id == post.pk]
        since = post.edited_at or post.created_at
        now = Version(post.body, post.content_warning, shown, since)
        then = None
        if since > report.created_at and (older := revisions.get(post.pk)):
            then = _version_at(report.created_at, older, known)
        found.append(ReportedPost(post, now, then))
    return found


def _version_at(
    moment: datetime, revisions: Sequence[Revision], known: dict[int, Attachment]
) -> Version:
    before = [row for row in revisions if row.created_at <= moment]
    row = before[-1] if before else revisions[0]
    shown = []
    for pk, alt in row.pictures:
        if pk in known:
            picture = copy(known[pk])
            picture.alt = alt
            shown.append(picture)
    return Version(row.body, row.content_warning, shown, row.created_at)


def record_of(user: User, *, without: int = 0) -> AccountRecord:
    """The newest reports about an account except the one with the id `without`, staff actions on it, and its posts."""
    reports = Report.objects.filter(target=user).exclude(pk=without).select_related("resolved_by")
    acts = LogEntry.objects.filter(
        content_type=ContentType.objects.get_for_model(User), object_id=str(user.pk)
    )
    posts = Post.objects.filter(author=user, deleted_at=None)
    return AccountRecord(
        list(reports.order_by("-pk")[:MAX_SHOWN]),
        list(acts.select_related("user").order_by("-action_time")[:MAX_SHOWN]),
        list(posts.order_by("-pk")[:MAX_SHOWN]),
    )
