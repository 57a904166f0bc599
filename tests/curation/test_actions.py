"""Who may be in a collection, and how one ends."""

import pytest

from apps.accounts.actions import set_locked
from apps.curation.actions import (
    MAX_COLLECTIONS,
    MAX_ITEMS,
    add_account,
    change_collection,
    create_collection,
    delete_collection,
    follow_each,
    leave,
    remove_hidden,
    remove_item,
)
from apps.curation.models import Collection, CollectionItem
from apps.curation.queries import approval, collection_for, collections_of, collections_with, shown
from apps.errors import Invalid, NotAllowed, NotFound, TooMany
from apps.graph.actions import block_user, follow_user
from apps.graph.models import Followee, FollowRequest
from apps.moderation.actions import limit_user, suspend_user
from tests.support.factories import deliver, make_user
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db


def members(collection, viewer=None):
    [one] = shown([Collection.objects.get(pk=collection.pk)], viewer and viewer.pk)
    return [item.member.handle for item in one.items]


def item_of(collection, user):
    return CollectionItem.objects.get(collection=collection, member=user)


def test_a_collection_is_made_filled_and_deleted(alice, bob, carol):
    made = create_collection(
        alice, [bob.pk], name=" Good\u200b  people ", description="Well\nworth it.", tag="#Cats"
    )
    assert (made.name, made.description, made.tag) == ("Good people", "Well\nworth it.", "cats")
    add_account(alice, made.pk, carol.pk)
    add_account(alice, made.pk, alice.pk)
    assert members(made) == ["bob", "carol", "alice"]
    remove_item(alice, made.pk, item_of(made, bob).pk)
    assert members(made) == ["carol", "alice"]
    add_account(alice, made.pk, bob.pk)
    assert members(made) == ["carol", "alice", "bob"]
    delete_collection(alice, made.pk)
    assert not CollectionItem.objects.exists()
    with pytest.raises(NotFound):
        collection_for(None, made.pk)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": " \u200b"}, "name"),
        ({"name": "x" * 41}, "name"),
        ({"name": "x", "description": "x" * 101}, "description"),
        ({"name": "x", "tag": "two words"}, "tag_name"),
    ],
)
def test_bad_fields_are_refused(alice, collection, fields, field):
    with pytest.raises(Invalid) as refused:
        create_collection(alice, **fields)
    assert list(refused.value.errors) == [field]
    with pytest.raises(Invalid):
        change_collection(alice, collection.pk, **fields)


def test_a_change_is_of_the_named_fields(alice, collection):
    before = Collection.objects.get(pk=collection.pk).updated_at
    assert change_collection(alice, collection.pk, name="Good people").updated_at == before
    changed = change_collection(alice, collection.pk, is_discoverable=False)
    assert (changed.name, changed.is_discoverable) == ("Good people", False)
    assert changed.updated_at > before


def test_only_its_owner_changes_a_collection(bob, collection):
    item = item_of(collection, bob).pk
    for act in (
        lambda: change_collection(bob, collection.pk, name="Mine"),
        lambda: delete_collection(bob, collection.pk),
        lambda: add_account(bob, collection.pk, bob.pk),
        lambda: remove_item(bob, collection.pk, item),
        lambda: remove_hidden(bob, collection.pk),
    ):
        with pytest.raises(NotAllowed):
            act()
    assert members(collection) == ["bob"]


@pytest.mark.slow
def test_the_limits_hold(alice, bob, collection, monkeypatch):
    people = [make_user() for _number in range(MAX_ITEMS)]
    for person in people[: MAX_ITEMS - 1]:
        add_account(alice, collection.pk, person.pk)
    with pytest.raises(Invalid):
        add_account(alice, collection.pk, people[-1].pk)
    with pytest.raises(Invalid):
        add_account(alice, collection.pk, bob.pk)
    with pytest.raises(Invalid):
        create_collection(alice, [bob.pk, *(one.pk for one in people)], name="Too many")
    assert Collection.objects.count() == 1, "nothing is left of it"
    for number in range(MAX_COLLECTIONS - 1):
        create_collection(alice, name=str(number))
    with pytest.raises(Invalid):
        create_collection(alice, name="One more")


def test_additions_are_limited(alice, bob, carol, collection, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "collect": (2, 3600)}
    add_account(alice, collection.pk, carol.pk)
    with pytest.raises(TooMany):
        create_collection(alice, [bob.pk, carol.pk], name="More")
    assert Collection.objects.count() == 1


def test_an_account_agrees_by_being_discoverable(alice, bob, carol):
    made = create_collection(alice, name="People")
    bob.is_discoverable = False
    bob.save()
    assert approval(bob) == ""
    with pytest.raises(NotAllowed):
        add_account(alice, made.pk, bob.pk)
    set_locked(carol, locked=True)
    carol.refresh_from_db()
    assert approval(carol) == "followers"
    with pytest.raises(NotAllowed):
        add_account(alice, made.pk, carol.pk)
    set_locked(carol, locked=False)
    follow_user(alice, carol)
    set_locked(carol, locked=True)
    add_account(alice, made.pk, carol.pk)
    set_locked(alice, locked=True)
    add_account(alice, made.pk, alice.pk)
    assert members(made) == ["carol", "alice"]


def test_unknown_and_hidden_accounts_are_not_added(alice, bob, carol):
    made = create_collection(alice, name="People")
    staff = make_staff("accounts.change_user")
    suspend_user(bob, by=staff, reason="Spam.")
    limit_user(carol, by=staff)
    for pk, error in ((bob.pk, NotFound), (carol.pk, NotAllowed), (999_999, NotFound)):
        with pytest.raises(error):
            add_account(alice, made.pk, pk)
        with pytest.raises(error):
            create_collection(alice, [pk], name="Another")
    assert Collection.objects.count() == 1


def test_those_who_become_hidden_vanish_and_come_back(alice, bob, carol, collection):
    staff = make_staff("accounts.change_user")
    add_account(alice, collection.pk, carol.pk)
    suspend_user(bob, by=staff, reason="Spam.")
    carol.is_discoverable = False
    carol.save()
    [one] = shown([collection], None)
    assert (one.items, one.hidden) == ([], 2)
    carol.is_discoverable = True
    carol.save()
    [one] = shown([collection], None)
    assert ([item.member for item in one.items], one.hidden) == ([carol], 1)
    assert remove_hidden(alice, collection.pk) == 1
    assert remove_hidden(alice, collection.pk) == 0
    assert CollectionItem.objects.count() == 1


def test_a_suspended_owner_hides_the_collection(alice, bob, collection):
    suspend_user(alice, by=make_staff("accounts.change_user"), reason="Spam.")
    with pytest.raises(NotFound):
        collection_for(bob.pk, collection.pk)
    assert not collections_with(bob).exists()


@pytest.mark.parametrize("blocks", ["owner", "member"])
def test_a_block_ends_it_and_prevents_it(alice, bob, collection, blocks):
    pair = (alice, bob) if blocks == "owner" else (bob, alice)
    block_user(*pair)
    deliver()
    assert not CollectionItem.objects.exists()
    with pytest.raises(NotAllowed):
        add_account(alice, collection.pk, bob.pk)


def test_readers_do_not_see_those_they_block(alice, bob, carol, collection):
    add_account(alice, collection.pk, carol.pk)
    block_user(carol, bob)
    assert members(collection, carol) == ["carol"]
    assert members(collection, bob) == ["bob"]
    assert members(collection, alice) == members(collection) == ["bob", "carol"]


def test_an_owner_hides_collections_from_those_it_blocks(alice, carol, collection):
    assert [one.name for one in collections_of(alice, carol.pk)] == ["Good people"]
    block_user(alice, carol)
    assert not collections_of(alice, carol.pk)
    with pytest.raises(NotAllowed):
        collection_for(carol.pk, collection.pk)


def test_others_find_only_discoverable_ones(alice, bob, collection):
    change_collection(alice, collection.pk, is_discoverable=False)
    assert not collections_of(alice, None)
    assert not collections_of(alice, bob.pk)
    assert list(collections_of(alice, alice.pk)) == [collection]
    assert list(collections_with(bob)) == [collection], "who is in it knows"
    assert collection_for(None, collection.pk) == collection


def test_who_has_left_is_not_put_back(alice, bob, carol, collection):
    item = item_of(collection, bob).pk
    with pytest.raises(NotAllowed):
        leave(carol, collection.pk, item)
    leave(bob, collection.pk, item)
    assert members(collection) == []
    assert not collections_with(bob)
    with pytest.raises(NotAllowed):
        add_account(alice, collection.pk, bob.pk)
    for again in (
        lambda: leave(bob, collection.pk, item),
        lambda: remove_item(alice, collection.pk, item),
    ):
        with pytest.raises(NotFound):
            again()


def test_follow_all_says_who_could_not_be_followed(alice, bob, carol, collection):
    dave, erin, frank = make_user("dave"), make_user("erin"), make_user("frank")
    for person in (carol, dave, erin):
        add_account(alice, collection.pk, person.pk)
    follow_user(frank, bob)
    set_locked(dave, locked=True)
    block_user(erin, frank)
    followed, asked, failed = follow_each(frank, [bob, carol, dave, erin, frank])
    assert (followed, asked) == (1, 1)
    assert [person.handle for person, _why in failed] == ["erin"]
    handles = Followee.objects.filter(owner=frank).values_list("followee__handle", flat=True)
    assert set(handles) == {"bob", "carol"}
    assert FollowRequest.objects.filter(requester=frank, owner=dave).exists()
    assert follow_each(frank, [bob, carol, dave]) == (0, 0, [])


def test_follow_all_stops_at_the_limit(alice, collection, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "follow": (2, 3600)}
    people = [make_user() for _number in range(4)]
    followed, _asked, failed = follow_each(make_user("frank"), people)
    assert (followed, [person for person, _why in failed]) == (2, people[2:])
