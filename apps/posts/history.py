"""What a post said before, and what its author wrote."""

from collections.abc import Iterator
from dataclasses import replace

from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.posts.actions.author import mentioned
from apps.posts.content.post import Picture, PostContent
from apps.posts.models import Revision
from apps.posts.queries import visible_posts

MAX_VERSIONS = 100  # versions shown


def source_of(author: User, post_id: int) -> PostContent:
    """The post as its author wrote it; NotFound for posts of others."""
    post = visible_posts(author.pk, [post_id]).posts.get(post_id)
    if post is None or post.author_id != author.pk or post.is_repost:
        raise NotFound(_("This post isn't here."))
    return post


def versions_of(post: PostContent) -> list[PostContent]:
    """A post that the viewer may see as it was at first, after each edit, and as it is: at most the newest 100.

    `created_at` of each is when it was written. Pictures that were taken out meanwhile are in none of them. Two queries.
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
    here = {picture.id: picture for picture in post.pictures}
    return (replace(here[pk], alt=alt) for pk, alt in row.pictures if pk in here)
