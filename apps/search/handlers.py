"""Indexes posts and accounts when they change, and drops cached suggestions when accounts are suspended."""

from typing import Any

from django.dispatch import receiver

from apps.accounts.models import User
from apps.accounts.signals import account_visibility_changed
from apps.events.actions import Payload, handles
from apps.search.indexing import index_people, index_posts
from apps.search.suggestions import clear_cards


@handles("post_published")
@handles("post_edited")
@handles("post_deleted")
def index_post(payload: Payload) -> None:
    index_posts([payload["post_id"]])


@handles("account_changed")
def index_person(payload: Payload) -> None:
    if user := User.objects.filter(pk=payload["user_id"]).first():
        index_people([user])


@receiver(account_visibility_changed)
def forget_suggestions(**_kwargs: Any) -> None:
    """Drop cached suggestions, so that a suspended account is no longer suggested."""
    clear_cards()
