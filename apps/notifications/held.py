"""Which notifications a policy keeps from its owner's list, decided at every read inside the statement that reads them.

Nothing of it is stored with a notification. A policy that is relaxed, a follow, or a permission shows at the next read what
was held back. Who has none is known from the reader's counts, so most readers pay nothing.
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
# What was asked for: whatever a policy says, it is told.
ASKED_FOR = (NotificationKind.POLL, NotificationKind.EDIT, NotificationKind.POST)
CONDITIONS = ("for_not_following", "for_not_followers", "for_new_accounts", "for_private_mentions")


def kept_back(viewer: User) -> Q:
    """The notifications of a viewer that the policy holds back or hides."""
    return _meant(viewer, Verdict.FILTER, Verdict.DROP)


def requested(viewer: User) -> Q:
    """Those that it holds back, so that the viewer may look at them: nothing says that they are to be hidden."""
    return _meant(viewer, Verdict.FILTER) & ~_meant(viewer, Verdict.DROP)


def _meant(viewer: User, *verdicts: Verdict) -> Q:
    policy = NotificationPolicy.objects.filter(user=viewer)
    says = {name: Exists(policy.filter(**{f"{name}__in": verdicts})) for name in CONDITIONS}
    followed = Exists(Followee.objects.filter(owner=viewer, followee=OuterRef("actor")))
    follows = Exists(Follower.objects.filter(owner=viewer, follower=OuterRef("actor")))
    allowed = Exists(NotificationPermission.objects.filter(user=viewer, actor=OuterRef("actor")))
    posts = Post.objects.filter(pk=OuterRef("post"), visibility=Visibility.MENTIONED)
    private = Exists(posts)
    meant = (
        Q(says["for_not_following"]) & ~Q(followed)
        | Q(says["for_not_followers"]) & ~Q(follows)
        | Q(says["for_new_accounts"]) & Q(actor__created_at__gt=timezone.now() - NEW_ACCOUNT)
        | Q(says["for_private_mentions"]) & Q(private) & ~Q(followed)
    )
    return ~Q(kind__in=ASKED_FOR) & ~Q(allowed) & meant
