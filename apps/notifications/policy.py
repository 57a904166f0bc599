"""Applies the recipient's policy to a notification when it is created; the result is stored with the notification.

A change to the policy therefore affects only later notifications.
"""

from datetime import timedelta

from django.utils import timezone

from apps.accounts.models import User
from apps.graph.queries import ExactRelations
from apps.notifications.models import NotificationPermission, NotificationPolicy, Treatment
from apps.posts.models import Post, Visibility

NEW_ACCOUNT = timedelta(days=30)
CONDITIONS = (
    "for_not_following", "for_not_followers", "for_new_accounts", "for_private_mentions", "for_bots"
)  # fmt: skip


def treatment_of(
    user_id: int, actor_id: int, post_id: int | None, relations: ExactRelations
) -> Treatment:
    """The treatment of a notification under the policy of `user_id`: the strictest one whose condition applies.

    Accounts that staff have limited notify only their followers, even if the user has exempted them.

    This is not called for notifications that the recipient requested by voting, reposting, quoting, or subscribing to
    an account's new posts.
    """
    is_followed = actor_id in relations.following
    if not is_followed and User.objects.filter(pk=actor_id, limited_at__isnull=False).exists():
        return Treatment.DROP
    policy = NotificationPolicy.objects.filter(user=user_id).first()
    chosen = {name for name in CONDITIONS if policy and getattr(policy, name) != Treatment.ACCEPT}
    if policy is None or not chosen:
        return Treatment.ACCEPT
    if NotificationPermission.objects.filter(user=user_id, actor=actor_id).exists():
        return Treatment.ACCEPT
    applying = {
        "for_not_following": not is_followed,
        "for_not_followers": actor_id not in relations.followed_by,
        "for_new_accounts": "for_new_accounts" in chosen and _is_new(actor_id),
        "for_bots": "for_bots" in chosen and not is_followed and _is_bot(actor_id),
        "for_private_mentions": not is_followed and _is_private(post_id),
    }
    verdicts = {getattr(policy, name) for name in chosen if applying[name]}
    strictest_first = (Treatment.DROP, Treatment.FILTER)
    return next((verdict for verdict in strictest_first if verdict in verdicts), Treatment.ACCEPT)


def _is_new(account_id: int) -> bool:
    newest = timezone.now() - NEW_ACCOUNT
    return User.objects.filter(pk=account_id, created_at__gt=newest).exists()


def _is_bot(account_id: int) -> bool:
    return User.objects.filter(pk=account_id, is_bot=True).exists()


def _is_private(post_id: int | None) -> bool:
    if post_id is None:
        return False
    return Post.objects.filter(pk=post_id, visibility=Visibility.MENTIONED).exists()
