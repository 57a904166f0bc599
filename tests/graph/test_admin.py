"""Follows, blocks and mutes in the admin."""

import pytest
from django.db.models import Model

from apps.accounts.models import UserCounts
from apps.graph.actions import block_user, follow_user, mute_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Block, Circle, Followee, Follower, Mute
from apps.graph.queries import mirror_faults
from tests.support.factories import make_user
from tests.support.staff import MAX_QUERIES, browser_of, choose, confirm, make_staff

pytestmark = pytest.mark.django_db


def path(model: type[Model]) -> str:
    return f"/admin/graph/{model._meta.model_name}/"


@pytest.mark.slow
def test_lists_in_few_queries(chief, alice, django_assert_max_num_queries):
    for _ in range(3):
        follow_user(make_user(), alice)
    for model in (Followee, Follower):
        with django_assert_max_num_queries(MAX_QUERIES):
            text = chief.get(path(model)).content.decode()
        assert text.count("@alice</a>") == 3


@pytest.mark.slow
def test_search_by_the_handle_of_the_owner(chief, alice, bob, carol):
    for model, found in {Followee: "@bob", Follower: "@alice"}.items():
        text = chief.get(path(model), {"q": found}).content.decode()
        assert "@alice</a>" in text
        assert "@alice</a>" not in chief.get(path(model), {"q": "carol"}).content.decode()
        assert "@alice</a>" not in chief.get(path(model), {"q": "nobody"}).content.decode()


@pytest.mark.slow
@pytest.mark.parametrize("model", [Followee, Follower])
def test_remove_follow_keeps_mirror_and_counts(chief, alice, bob, model):
    row = model.objects.get()
    assert "Remove 1 relation?" in choose(chief, path(model), "remove", [row]).content.decode()
    assert model.objects.exists()
    assert "1 relation removed." in confirm(chief, path(model), "remove", [row]).content.decode()
    assert not Followee.objects.exists()
    assert not Follower.objects.exists()
    assert UserCounts.objects.get(pk=alice.pk).followers == 0
    assert not any(mirror_faults().values())


@pytest.mark.slow
def test_remove_block_and_mute(chief, alice, carol):
    block_user(alice, carol)
    mute_user(carol, alice)
    confirm(chief, path(Block), "remove", Block.objects.all())
    confirm(chief, path(Mute), "remove", Mute.objects.all())
    assert not Block.objects.exists()
    assert not Mute.objects.exists()


def test_rows_are_not_written_by_hand(chief, bob):
    row = Followee.objects.get()
    assert chief.get(f"{path(Followee)}add/").status_code == 403
    assert chief.post(f"{path(Followee)}{row.pk}/change/", {"owner": "1"}).status_code == 403
    assert chief.post(f"{path(Followee)}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert Followee.objects.get() == row


def test_remove_needs_the_right(bob):
    viewer = browser_of(make_staff("graph.view_followee"))
    confirm(viewer, path(Followee), "remove", Followee.objects.all())
    assert Followee.objects.exists()


class TestCircles:
    def test_list_in_few_queries(self, chief, alice, bob, django_assert_max_num_queries):
        for n in range(3):
            add_members(Circle, alice, create_group(Circle, alice, name=f"circle {n}").pk, [bob.pk])
        with django_assert_max_num_queries(MAX_QUERIES):
            text = chief.get(path(Circle)).content.decode()
        assert text.count("@alice</a>") == 3
        assert text.count('class="field-size">1<') == 3

    def test_search_by_the_handle_of_the_owner(self, chief, alice, carol):
        create_group(Circle, alice, name="Family")
        create_group(Circle, carol, name="Band")
        text = chief.get(path(Circle), {"q": "@carol"}).content.decode()
        assert ("Band" in text, "Family" in text) == (True, False)

    def test_is_for_reading(self, chief, alice):
        circle = create_group(Circle, alice, name="Family")
        assert chief.get(f"{path(Circle)}add/").status_code == 403
        assert chief.post(f"{path(Circle)}{circle.pk}/change/", {"name": "x"}).status_code == 403
        answer = chief.post(f"{path(Circle)}{circle.pk}/delete/", {"post": "yes"})
        assert answer.status_code == 403
        assert Circle.objects.get().name == "Family"
