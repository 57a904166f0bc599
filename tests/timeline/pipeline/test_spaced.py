"""How many promoted posts a page has, and where."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.queries import user_by_id
from apps.audit.explain import assembly, explain
from apps.pagination import Cursor
from apps.promotions.actions import state_trait
from apps.timeline.home import home_timeline
from apps.timeline.pipeline.reasons import Reason
from apps.timeline.pipeline.rulebook import OTHERS_BETWEEN, spaced
from apps.timeline.sources.home_cache import HOME
from tests.promotions.conftest import make_campaign, make_segment, start, trait
from tests.support.factories import deliver, make_user, publish


def kinds(text):
    promotion_of: Any = {"P": "P"}.get
    return "".join(spaced(text, promotion_of))


@pytest.mark.parametrize(
    ("page", "left"),
    [
        ("P", ""),
        ("PPoP", "o"),
        ("oooooooP", "oooooooP"),
        ("ooooooP", "oooooo"),
        ("oooooooPPoP", "oooooooPo"),
        ("oooooooPoooooooP", "oooooooPoooooooP"),
        ("PooooooooPoooP", "ooooooooPooo"),
    ],
)
def test_seven_others_stand_above_each(page, left):
    assert kinds(page) == left


@given(st.text("Poo", max_size=80))
def test_at_most_one_in_eight_never_two_in_a_row_and_nothing_else_is_lost(page):
    left = kinds(page)
    assert left.count("o") == page.count("o")
    assert "PP" not in left
    assert not left[:OTHERS_BETWEEN].count("P")
    assert left.count("P") <= len(left) / 8


@pytest.mark.django_db
def test_a_page_says_why_a_promoted_post_does_not_stand_on_it(alice):
    shop = make_user("shop")
    start(make_campaign(shop, make_segment("cooks", "keen cooks", ("trait", trait("cook")))))
    state_trait(alice, "cook")
    publish(alice)
    post = publish(shop)
    deliver()
    reader = user_by_id(alice.pk)
    reasons = {row.item.id: row.explanation for row in assembly(reader, Cursor()).rows}
    assert (reasons[post.pk].on_home, reasons[post.pk].reason) == (False, Reason.SPACED)
    assert "at most one post in eight" in reasons[post.pk].text
    assert explain(reader, post.pk).reason == Reason.PROMOTED  # wherever its place is


@pytest.mark.django_db
def test_a_promoted_post_that_the_home_cache_lost_is_not_said_to_be_promoted(alice):
    shop = make_user("shop")
    start(make_campaign(shop, make_segment("cooks", "keen cooks", ("trait", trait("cook")))))
    state_trait(alice, "cook")
    home_timeline(user_by_id(alice.pk), Cursor())
    post = publish(shop)
    deliver()
    reader = user_by_id(alice.pk)
    assert explain(reader, post.pk).reason == Reason.PROMOTED
    HOME.remove(alice.pk, [post.pk])
    found = explain(reader, post.pk)
    assert (found.on_home, found.reason) == (False, Reason.LOST)


@pytest.mark.long
@pytest.mark.django_db
def test_a_new_member_who_follows_one_person_reads_that_person(alice):
    shops = [make_user() for _one in range(3)]
    for number, shop in enumerate(shops):
        slug = f"cooks-{number}"
        start(make_campaign(shop, make_segment(slug, "keen cooks", ("trait", trait("cook")))))
    state_trait(alice, "cook")
    for _round in range(10):
        publish(alice)
        for shop in shops:
            publish(shop)
    for _last in range(3):
        publish(alice)
    deliver()
    page = home_timeline(user_by_id(alice.pk), Cursor(limit=40))
    assert "".join("P" if item.promotion else "o" for item in page.items).count("P") <= 1
    assert sum(item.promotion is None for item in page.items) == 13
    for limit in (1, 5, 8, 20):
        page = home_timeline(user_by_id(alice.pk), Cursor(limit=limit))
        items = [*page.items]
        while page.older is not None:
            page = home_timeline(user_by_id(alice.pk), Cursor(max_id=page.older, limit=limit))
            items += page.items
        assert sum(item.promotion is None for item in items) == 13
    nobody = make_user()
    state_trait(nobody, "cook")
    deliver()
    assert home_timeline(user_by_id(nobody.pk), Cursor()).items == []
