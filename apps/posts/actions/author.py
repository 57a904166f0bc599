"""What every write of an author begins with: the lock of the counts row, the next revision of the outbox, whom a text names."""

from apps.accounts.models import User, UserCounts
from apps.accounts.queries import user_ids_by_handle
from apps.posts.content.text import mentioned_handles
from apps.posts.models import OPEN, Post


def lock_author(author: User) -> UserCounts:
    """The author's counts row, locked: all writes of one author come one after the other."""
    return UserCounts.objects.select_for_update().get(pk=author.pk)


def next_revision(post: Post, counts: UserCounts) -> int:
    """The outbox revision that a change of this post makes; `counts` as it was locked.

    It fences the ids and the contents of the author's open posts: restricted ones do not move it.
    """
    if post.visibility not in OPEN:
        return counts.outbox_revision
    post.outbox_revision = counts.outbox_revision + 1
    return post.outbox_revision


def mentioned(body: str) -> dict[str, int]:
    """The accounts that a text names, by handle; those that do not exist are left out."""
    return user_ids_by_handle(mentioned_handles(body))
