"""Earlier versions of a post, and its source text."""

from collections.abc import Iterator
from dataclasses import replace

from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.posts.actions.author import mentioned
from apps.posts.content.post import Picture, PostContent
from apps.posts.models import Revision
from apps.posts.queries import visible_posts

MAX_VERSIONS = 100


def source_of(author: User, post_id: int) -> PostContent:
    """One's own post as it was written; NotFound for reposts and for posts of others."""
    post = visible_posts(author.pk, [post_id]).posts.get(post_id)
    if post is None or post.author_id != author.pk or post.is_repost:
        raise NotFound(_("This post isn't here."))
    return post


def versions_of(post: PostContent) -> list[PostContent]:
    """The versions of a post that the viewer may see, oldest first: at most the newest 100. Two
    queries.

    `created_at` of each is the time it was written. Pictures that were removed since are in none of
    them.
    """
    rows = list(Revision.objects.filter(post=post.id).order_by("-version")[: MAX_VERSIONS - 1])
    named = mentioned(" ".join(row.body for row in rows))
    earlier = [_version(post, row, named) for row in reversed(rows)]
    return [*earlier, replace(post, created_ms=post.edited_ms or post.created_ms)]


def _version(post: PostContent, row: Revision, named: dict[str, int]) -> PostContent:
    return replace(
        post,
        version=row.version,
        body=row.body,
        content_warning=row.content_warning,
        sensitive=row.sensitive,
        created_ms=round(row.created_at.timestamp() * 1000),
        pictures=tuple(_pictures(post, row)),
        mentions=named,
    )


def _pictures(post: PostContent, row: Revision) -> Iterator[Picture]:
    pictures = {picture.id: picture for picture in post.pictures}
    return (replace(pictures[pk], alt=alt) for pk, alt in row.pictures if pk in pictures)
