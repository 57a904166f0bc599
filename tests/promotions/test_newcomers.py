"""Who has just arrived sees a full page of the people they follow, and nothing that is promoted."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.explain import explain_home
from apps.pagination import Cursor
from apps.promotions.actions import state_trait
from apps.promotions.queries import promotions_of
from apps.search.models import StarterPack
from tests.promotions.conftest import make_campaign, start
from tests.support.factories import PASSWORD, deliver, delivered, make_user, publish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("side_by_side")]


@pytest.fixture
def pack():
    """Three people with more posts than a page has."""
    made = StarterPack.objects.create(title="A good start", language="en")
    people = [make_user(name) for name in ("ines", "juno", "kofi")]
    made.members.set(people)
    for number in range(24):
        publish(people[number % 3], f"Number {number}.", language="en")
    deliver()
    return made


@pytest.mark.long
def test_three_of_a_starter_pack_make_a_full_page_with_nothing_promoted(
    pack, freshers, shop, settings
):
    settings.PROMOTIONS_AFTER_DAYS = 7
    browser = Client()
    browser.post("/join", {"handle": "newcomer", "password": PASSWORD})
    newcomer = User.objects.get(handle="newcomer")
    state_trait(newcomer, "first-year-student")
    start(make_campaign(shop, freshers))
    delivered(shop, "New books are here.")
    for handle in ("ines", "juno", "kofi"):
        browser.post(f"/@{handle}/follow")
    deliver()
    assert promotions_of(newcomer.pk)  # the campaign means this account, too

    page = browser.get("/").text
    assert page.count("<article") == 20
    assert "New books are here." not in page
    assert "data-promoted" not in page
    explained = explain_home(User.objects.get(pk=newcomer.pk), Cursor())
    assert all(item.item.promotion is None for item in explained.items)

    User.objects.update(created_at=timezone.now() - timedelta(days=8))
    browser.force_login(User.objects.get(pk=newcomer.pk))
    page = browser.get("/").text
    assert "New books are here." in page
    assert "data-promoted" in page
