"""Accounts of a certain age, and staff who may do everything about spam."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.spam.models import BlockedDomain
from tests.support.factories import make_user
from tests.support.staff import make_staff

PERMISSIONS = (
    "spam.view_dryrun", "spam.add_dryrun", "spam.change_policy", "posts.delete_post", "accounts.change_user",
    "moderation.view_report", "moderation.change_report",
)  # fmt: skip


@pytest.fixture
def aged(db):
    """`aged(days)`: an account that was made so many days ago."""

    def make(days=0.0, handle=""):
        user = make_user(handle)
        user.created_at = timezone.now() - timedelta(days=days)
        User.objects.filter(pk=user.pk).update(created_at=user.created_at)
        return user

    return make


@pytest.fixture
def blocked(db):
    return BlockedDomain.objects.create(domain="pills.example")


@pytest.fixture
def mod(db):
    return make_staff(*PERMISSIONS, handle="mod")
