"""First steps of every write of an author: lock the counts, next revision, mentions."""

from apps.accounts.models import User, UserCounts
from apps.accounts.queries import user_ids_by_handle
from apps.posts.content.text import mentioned_handles
from apps.posts.models import OPEN, Post


def lock_author(author: User) -> UserCounts:
    """The author's counts row, locked: all writes of an author are serialised."""
    return UserCounts.objects.select_for_update().get(pk=author.pk)


def next_revision(post: Post, counts: UserCounts) -> int:
    """The outbox revision after a change of this post; `counts` as it was locked.

    It versions the ids and contents of the author's open posts; restricted ones do not change it.
    """
    if post.visibility not in OPEN:
        return counts.outbox_revision
    post.outbox_revision = counts.outbox_revision + 1
    return post.outbox_revision


def mentioned(body: str) -> dict[str, int]:
    """The ids of the mentioned accounts that exist, by handle."""
    return user_ids_by_handle(mentioned_handles(body))
