"""Event handlers: recompute people's segments when the data behind a rule changes, run the batches of campaigns, and
drop outdated cache entries."""

from typing import Any

from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from apps.accounts.models import User
from apps.events.actions import Payload, declare, handles, record
from apps.graph.cache import load_graph_revisions, renew_graph_revisions
from apps.promotions.actions import begin_batch, forget_user, refresh_user, stop_batch
from apps.promotions.cache import forget_campaigns, forget_readers
from apps.promotions.models import PromotedAccount, RuleKind, Segment, SegmentRule
from apps.promotions.queries import is_promoted
from apps.tags.models import TagFollow
from feedcache.ids import author_of

LANGUAGES = {"interface_language", "post_language"}

declare(
    interests_changed="user_id (a new account, another language, or other followed tags)",
    campaign_begun="campaign_id, segment_id, after (the next batch takes people with higher user ids)",
    campaign_stopped="account_id, after (the next batch takes virtual follows with higher ids)",
    segments_changed="user_ids (people of one batch who joined or left segments)",
)


@handles("virtual_follow_changed")
def repair_readers(payload: Payload) -> None:
    """Renew graph revisions and drop cached entries, in case the process that changed follows died after its commit."""
    renew_graph_revisions(load_graph_revisions(payload["user_ids"]))
    forget_readers(payload["user_ids"])


@handles("segments_changed")
def repair_members(payload: Payload) -> None:
    """Drop cached entries again, in case the process that changed the segments died after its commit."""
    forget_readers(payload["user_ids"])


@handles("campaign_begun")
def follow_virtually(payload: Payload) -> None:
    forget_campaigns()  # again, in case the process that began the campaign died after its commit
    begin_batch(payload["campaign_id"], payload["segment_id"], payload["after"])


@handles("campaign_stopped")
def unfollow_virtually(payload: Payload) -> None:
    forget_campaigns()  # again, in case the process that stopped the campaign died after its commit
    stop_batch(payload["account_id"], payload["after"])


@handles("post_published")
@handles("post_deleted")
@handles("post_hidden")
def renew_newest(payload: Payload) -> None:
    """Drop the cached campaigns, because they contain the newest post of each promoted account."""
    if is_promoted(author_of(payload["post_id"])):
        forget_campaigns()


@handles("followed")
@handles("unfollowed")
def refresh_follower(payload: Payload) -> None:
    """Recompute the segments and virtual follows of the follower, if a segment has a rule about this followee."""
    rules = SegmentRule.objects.filter(
        kind=RuleKind.FOLLOWS_ACCOUNT, account=payload["followee_id"], segment__is_active=True
    )
    if rules.exists():
        refresh_user(payload["follower_id"])


@handles("account_changed")
@handles("interests_changed")
def refresh_changed(payload: Payload) -> None:
    """Recompute an account's segments when its state, languages or tags have changed; delete them if it was deleted."""
    if SegmentRule.objects.filter(account=payload["user_id"]).exists():
        forget_campaigns()  # the cached rules contain the account's handle
    if User.objects.filter(pk=payload["user_id"]).exclude(erased_at=None).exists():
        forget_user(payload["user_id"])
    else:
        refresh_user(payload["user_id"])


@receiver(post_save, sender=User)
def note_account(instance: User, *, created: bool, update_fields: Any, **_more: Any) -> None:
    """If an account is new or its language may have changed, record that its segments must be recomputed."""
    if created or LANGUAGES.intersection(update_fields or LANGUAGES):
        _note(instance.pk)


@receiver([post_save, post_delete], sender=TagFollow)
def note_tag(instance: TagFollow, **_more: Any) -> None:
    """Record a change of followed tags. This uses a signal, because apps.tags records no event for it."""
    _note(instance.user_id)


@receiver(post_save, sender=PromotedAccount)
def note_sponsor(**_more: Any) -> None:
    transaction.on_commit(forget_campaigns, robust=True)


def _note(user_id: int) -> None:
    """Record that an account must be recomputed. Does nothing if no segment is active.

    When a segment becomes active, all accounts are recomputed anyway.
    """
    if Segment.objects.filter(is_active=True).exists():
        with transaction.atomic():
            record("interests_changed", user_id=user_id)
