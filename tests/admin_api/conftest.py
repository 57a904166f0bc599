"""Staff with different rights, and their programs."""

import pytest

from apps.moderation.actions import file_report
from tests.support.factories import publish
from tests.support.staff import make_staff

SCOPES = "admin:read admin:write"
RIGHTS = (
    "accounts.view_user",
    "accounts.change_user",
    "moderation.view_report",
    "moderation.change_report",
    "tags.view_tag",
    "search.view_trendingpost",
    *(f"sign_ups.{act}_signupblock" for act in ("view", "add", "change", "delete")),
)


@pytest.fixture
def mod(db):
    return make_staff(*RIGHTS, handle="mod")


@pytest.fixture
def program(mod, api_of):
    """A program of a moderator."""
    return api_of(mod, SCOPES)


@pytest.fixture
def report(alice, carol):
    posts = [publish(alice, "You are all fools.").pk, publish(alice, "Fools, I say.").pk]
    return file_report(carol, alice, comment="They insult people.", rule_ids=[1], post_ids=posts)
