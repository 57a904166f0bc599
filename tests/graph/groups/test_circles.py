"""Circles: who may make, fill and leave them, and what a block does to them."""

from contextlib import suppress

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.errors import Invalid, NotAllowed, NotFound
from apps.events.models import Event
from apps.graph.actions import block_user, follow_user, unfollow_user
from apps.graph.groups import queries
from apps.graph.groups.actions import (
    add_members,
    change_group,
    create_group,
    delete_group,
    leave_circle,
    remove_members,
)
from apps.graph.groups.queries import (
    circle_audience,
    circle_names,
    circles_to_post_to,
    groups_of,
    joined_circles,
    members_page,
    own_group,
    require_may_post,
)
from apps.graph.models import Circle, CircleMember
from apps.pagination import Cursor
from tests.support.factories import make_user
from tests.support.threads import together

pytestmark = pytest.mark.django_db


@pytest.fixture
def family(alice, bob):
    """A circle of alice's with bob in it."""
    circle = create_group(Circle, alice, name="Family")
    add_members(Circle, alice, circle.pk, [bob.pk])
    return circle


def told():
    rows = Event.objects.filter(name="circle_changed").order_by("pk")
    return [(row.payload["circle_id"], sorted(row.payload["user_ids"])) for row in rows]


def test_the_owner_belongs_without_a_row(alice, bob, carol, family):
    assert circle_audience(family.pk) == {alice.pk, bob.pk}
    assert circle_names(alice.pk, [family.pk]) == {family.pk: "Family"}
    assert circle_names(bob.pk, [family.pk]) == {family.pk: "Family"}
    assert circle_names(carol.pk, [family.pk]) == {}
    assert circle_names(None, [family.pk]) == {}
    assert not CircleMember.objects.filter(member=alice).exists()


def test_asking_about_no_circle_asks_nobody(alice, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert circle_names(alice.pk, []) == {}


@pytest.mark.parametrize("number", [1, 5])
def test_who_belongs_is_one_query(alice, number, django_assert_num_queries):
    ids = [create_group(Circle, alice, name=f"circle {n}").pk for n in range(number)]
    with django_assert_num_queries(1):
        assert len(circle_names(alice.pk, ids)) == number


class TestNames:
    @pytest.mark.parametrize("name", ["", "  ", "\u200b\u202e", "x" * 61])
    def test_refused(self, alice, name):
        with pytest.raises(Invalid) as refused:
            create_group(Circle, alice, name=name)
        assert list(refused.value.errors) == ["name"]

    def test_cleaned(self, alice):
        assert create_group(Circle, alice, name="  Old\n \u202efriends ").name == "Old friends"

    def test_one_of_a_name(self, alice, carol, family):
        with pytest.raises(Invalid):
            create_group(Circle, alice, name="Family")
        assert create_group(Circle, carol, name="Family").owner == carol
        delete_group(Circle, alice, family.pk)
        assert create_group(Circle, alice, name="Family").pk != family.pk

    def test_renaming(self, alice, family):
        other = create_group(Circle, alice, name="Work")
        with pytest.raises(Invalid):
            change_group(Circle, alice, other.pk, name="Family", is_shared=False)
        change_group(
            Circle, alice, family.pk, name="Family", is_shared=True
        )  # its own name is not taken
        change_group(Circle, alice, family.pk, name="Kin", is_shared=True)
        family.refresh_from_db()
        assert (family.name, family.is_shared) == ("Kin", True)


def test_a_hundred_circles_and_no_more(alice, monkeypatch):
    monkeypatch.setattr(Circle, "MAX_GROUPS", 2)
    gone = create_group(Circle, alice, name="one")
    create_group(Circle, alice, name="two")
    with pytest.raises(Invalid):
        create_group(Circle, alice, name="three")
    delete_group(Circle, alice, gone.pk)
    create_group(Circle, alice, name="three")


def test_the_limits_are_those_promised():
    limits = Circle.MAX_GROUPS, Circle.MAX_MEMBERS
    assert limits == (100, 1000)


class TestMembers:
    def test_only_followers_are_added_all_or_none(self, alice, bob, carol, family):
        remove_members(Circle, alice, family.pk, [bob.pk])
        with pytest.raises(NotAllowed) as refused:
            add_members(Circle, alice, family.pk, [bob.pk, carol.pk])
        assert "@carol" in refused.value.message
        assert circle_audience(family.pk) == {alice.pk}

    def test_nobody_adds_themselves(self, alice, family):
        with pytest.raises(NotAllowed):
            add_members(Circle, alice, family.pk, [alice.pk])

    def test_twice_is_once(self, alice, bob, family):
        before = told()
        add_members(Circle, alice, family.pk, [bob.pk])
        assert CircleMember.objects.count() == 1
        assert told() == before

    def test_bounds(self, alice, bob, family, monkeypatch):
        monkeypatch.setattr(Circle, "MAX_MEMBERS", 2)
        more = [make_user() for _ in range(2)]
        for one in more:
            follow_user(one, alice)
        with pytest.raises(Invalid):
            add_members(Circle, alice, family.pk, [one.pk for one in more])
        add_members(
            Circle, alice, family.pk, [bob.pk, more[0].pk]
        )  # who is in it already takes no second place
        monkeypatch.setattr(Circle, "MAX_ADDED", 1)
        with pytest.raises(Invalid):
            add_members(Circle, alice, family.pk, [one.pk for one in more])

    def test_removed_and_left(self, alice, bob, carol, family):
        remove_members(Circle, alice, family.pk, [bob.pk])
        remove_members(Circle, alice, family.pk, [bob.pk])
        assert circle_audience(family.pk) == {alice.pk}
        with pytest.raises(NotFound):
            leave_circle(bob, family.pk)
        add_members(Circle, alice, family.pk, [bob.pk])
        leave_circle(bob, family.pk)
        assert circle_audience(family.pk) == {alice.pk}
        assert told() == [(family.pk, [bob.pk])] * 4

    def test_an_unfollow_leaves_the_circle_as_it_is(self, alice, bob, family):
        unfollow_user(bob, alice)
        assert circle_audience(family.pk) == {alice.pk, bob.pk}


@pytest.mark.parametrize("blocker", ["owner", "member"])
def test_a_block_takes_both_out_of_each_others_circles(alice, bob, family, blocker):
    follow_user(alice, bob)
    theirs = create_group(Circle, bob, name="Band")
    add_members(Circle, bob, theirs.pk, [alice.pk])
    third = make_user()
    follow_user(third, alice)
    add_members(Circle, alice, family.pk, [third.pk])
    one, other = (alice, bob) if blocker == "owner" else (bob, alice)
    block_user(one, other)
    assert circle_audience(family.pk) == {alice.pk, third.pk}
    assert circle_audience(theirs.pk) == {bob.pk}
    assert told()[-2:] == [(family.pk, [bob.pk]), (theirs.pk, [alice.pk])]


def test_a_block_that_fails_takes_nobody_out(alice, bob, family, monkeypatch):
    def broken(*_args, **_kwargs):
        raise RuntimeError("no")

    monkeypatch.setattr("apps.graph.actions.record", broken)
    with pytest.raises(RuntimeError):
        block_user(alice, bob)
    assert circle_audience(family.pk) == {alice.pk, bob.pk}


def test_a_third_ones_circle_is_not_touched_by_a_block(alice, bob, family):
    third = make_user()
    follow_user(third, alice)
    add_members(Circle, alice, family.pk, [third.pk])
    block_user(bob, third)
    assert circle_audience(family.pk) == {alice.pk, bob.pk, third.pk}


def test_a_deleted_circle_has_nobody_in_it(alice, bob, family):
    delete_group(Circle, alice, family.pk)
    assert circle_audience(family.pk) == set()
    assert circle_names(alice.pk, [family.pk]) == {}
    assert circle_names(bob.pk, [family.pk]) == {}
    assert (groups_of(Circle, alice), joined_circles(bob)) == ([], [])
    assert told()[-1] == (family.pk, [alice.pk, bob.pk])


@pytest.mark.parametrize("who", ["member", "stranger"])
@pytest.mark.parametrize("circle", ["existing", "deleted", "absent"])
def test_others_cannot_tell_what_exists(alice, bob, carol, family, who, circle):
    person = {"member": bob, "stranger": carol}[who]
    circle_id = family.pk if circle != "absent" else 2**40
    if circle == "deleted":
        delete_group(Circle, alice, circle_id)
    said = set()
    for attempt in (
        lambda: own_group(Circle, person, circle_id),
        lambda: change_group(Circle, person, circle_id, name="Mine", is_shared=True),
        lambda: delete_group(Circle, person, circle_id),
        lambda: add_members(Circle, person, circle_id, []),
        lambda: remove_members(Circle, person, circle_id, [bob.pk]),
        *([lambda: leave_circle(carol, circle_id)] if who == "stranger" else []),
        *([lambda: require_may_post(carol.pk, circle_id)] if who == "stranger" else []),
    ):
        with pytest.raises(NotFound) as refused:
            attempt()
        said.add((refused.value.message, refused.value.code))
    assert len(said) == 1


def test_ids_beyond_a_bigint_are_absent(alice):
    for circle_id in (0, 2**63, 10**30):
        with pytest.raises(NotFound):
            own_group(Circle, alice, circle_id)
        with pytest.raises(NotFound):
            require_may_post(alice.pk, circle_id)


def test_where_one_may_post(alice, bob, carol, family, monkeypatch):
    shared = create_group(Circle, alice, name="Band", is_shared=True)
    add_members(Circle, alice, shared.pk, [bob.pk])
    own = create_group(Circle, bob, name="Zoo")
    create_group(Circle, carol, name="Elsewhere", is_shared=True)
    assert [(one.id, one.is_own) for one in circles_to_post_to(user_by_id(bob.pk))] == [
        (own.pk, True),
        (shared.pk, False),
    ]
    monkeypatch.setattr(queries, "MAX_LISTED", 1)  # many shared circles must not hide one's own
    assert [one.id for one in circles_to_post_to(user_by_id(bob.pk))] == [own.pk]
    require_may_post(bob.pk, shared.pk)
    with pytest.raises(NotAllowed):
        require_may_post(bob.pk, family.pk)
    User.objects.filter(pk=alice.pk).update(suspended_at=timezone.now())
    with pytest.raises(NotFound):
        require_may_post(bob.pk, shared.pk)
    User.objects.filter(pk=alice.pk).update(suspended_at=None)
    delete_group(Circle, alice, shared.pk)
    assert [one.id for one in circles_to_post_to(user_by_id(bob.pk))] == [own.pk]


@pytest.mark.parametrize("number", [1, 3])
def test_lists_cost_the_same_however_long(alice, bob, number, django_assert_num_queries):
    for n in range(number):
        circle = create_group(Circle, alice, name=f"circle {n}", is_shared=True)
        add_members(Circle, alice, circle.pk, [bob.pk])
    with django_assert_num_queries(1):
        sizes = [getattr(one, "size", None) for one in groups_of(Circle, alice)]  # annotated
        assert sizes == [1] * number
    with django_assert_num_queries(1):
        assert [one.owner.handle for one in joined_circles(bob)] == ["alice"] * number
    reader, stranger = user_by_id(bob.pk), make_user()
    with django_assert_num_queries(1):
        assert len(circles_to_post_to(reader)) == number
    with django_assert_num_queries(0):  # most people never have to do with one
        assert circles_to_post_to(stranger) == []


def test_members_are_paged_and_the_suspended_left_out(alice, family, bob):
    more = [make_user() for _ in range(3)]
    for one in more:
        follow_user(one, alice)
        add_members(Circle, alice, family.pk, [one.pk])
    User.objects.filter(pk=more[1].pk).update(suspended_at=timezone.now())
    first = members_page(family, Cursor(limit=3))
    rest = members_page(family, Cursor(limit=3, max_id=first.older))
    assert [first.items, rest.items] == [[more[2], more[0]], [bob]]


def test_two_requests_for_one_name_make_one_circle(transactional_db):
    owner = make_user()

    def make(_index):
        try:
            return create_group(Circle, owner, name="Twice").pk
        except Invalid:
            return None

    assert sum(pk is not None for pk in together(6, make)) == 1
    with pytest.raises(IntegrityError), transaction.atomic():
        Circle.objects.create(owner=owner, name="Twice")


def test_adding_and_blocking_at_once_leaves_no_blocked_member(transactional_db):
    owner, person = make_user(), make_user()
    circle = create_group(Circle, owner, name="Race")
    follow_user(person, owner)

    def act(index):
        if index % 2:
            block_user(owner, person)
            return
        with suppress(NotAllowed):
            add_members(Circle, owner, circle.pk, [person.pk])

    together(6, act)
    assert circle_audience(circle.pk) == {owner.pk}


def test_adding_at_once_keeps_to_the_limit(transactional_db, monkeypatch):
    monkeypatch.setattr(Circle, "MAX_MEMBERS", 3)
    owner, people = make_user(), [make_user() for _ in range(6)]
    circle = create_group(Circle, owner, name="Full")
    for person in people:
        follow_user(person, owner)

    def add(index):
        with suppress(Invalid):
            add_members(Circle, owner, circle.pk, [people[index].pk])

    together(6, add)
    assert CircleMember.objects.filter(group=circle).count() == 3
