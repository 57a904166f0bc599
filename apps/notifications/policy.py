"""Which notifications the policy of their owner filters or drops.

Decided by conditions of the statement that reads notifications and stored nowhere: when the policy is relaxed, or after
a follow or a permission, filtered notifications show at the next read. `UserCounts.holds_notifications` tells whether a
user has a policy at all, so most readers pay nothing.
"""

from datetime import timedelta

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from apps.accounts.models import User
from apps.graph.models import Followee, Follower
from apps.notifications.models import (
    NotificationKind,
    NotificationPermission,
    NotificationPolicy,
    Verdict,
)
from apps.posts.models import Post, Visibility

NEW_ACCOUNT = timedelta(days=30)
# The reader asked for these, by a vote, a repost or the bell of a followed account: no policy applies.
EXEMPT_KINDS = (NotificationKind.POLL, NotificationKind.EDIT, NotificationKind.POST)
CONDITIONS = ("for_not_following", "for_not_followers", "for_new_accounts", "for_private_mentions")


def filtered_or_dropped(viewer: User) -> Q:
    """The notifications that do not appear in the viewer's list."""
    return _with_verdict(viewer, Verdict.FILTER, Verdict.DROP)


def filtered(viewer: User) -> Q:
    """The notifications that the viewer can review as requests: filtered by one condition, dropped by none."""
    return _with_verdict(viewer, Verdict.FILTER) & ~_with_verdict(viewer, Verdict.DROP)


def _with_verdict(viewer: User, *verdicts: Verdict) -> Q:
    policy = NotificationPolicy.objects.filter(user=viewer)
    has_verdict = {name: Exists(policy.filter(**{f"{name}__in": verdicts})) for name in CONDITIONS}
    followed = Exists(Followee.objects.filter(owner=viewer, followee=OuterRef("actor")))
    follower = Exists(Follower.objects.filter(owner=viewer, follower=OuterRef("actor")))
    accepted = Exists(NotificationPermission.objects.filter(user=viewer, actor=OuterRef("actor")))
    private = Exists(Post.objects.filter(pk=OuterRef("post"), visibility=Visibility.MENTIONED))
    unsolicited = (
        Q(has_verdict["for_not_following"]) & ~Q(followed)
        | Q(has_verdict["for_not_followers"]) & ~Q(follower)
        | Q(has_verdict["for_new_accounts"]) & Q(actor__created_at__gt=timezone.now() - NEW_ACCOUNT)
        | Q(has_verdict["for_private_mentions"]) & Q(private) & ~Q(followed)
    )
    return ~Q(kind__in=EXEMPT_KINDS) & ~Q(accepted) & unsolicited
