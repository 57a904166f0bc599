"""Lists: what they may hold, whom nobody else sees, what their timeline shows, and exclusive ones and the home page."""

from typing import Any

import pytest

from apps.accounts.queries import user_by_id
from apps.audit.explain import explain
from apps.audit.oracle import Oracle
from apps.errors import Invalid, NotFound
from apps.graph.actions import block_user, follow_user, mute_user, unfollow_user
from apps.graph.groups.actions import (
    add_members,
    change_group,
    create_group,
    delete_group,
    remove_members,
)
from apps.graph.groups.queries import groups_of, groups_with, members_page, own_group
from apps.graph.models import Circle, ListMember, UserList
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.timeline.home import home_timeline
from apps.timeline.list import list_timeline
from apps.timeline.pipeline.reasons import Reason
from tests.support.factories import deliver, delivered, make_user, publish, repost, suspend

pytestmark = pytest.mark.django_db


@pytest.fixture
def dave(bob):
    """Somebody else whom bob follows."""
    dave = make_user("dave")
    follow_user(bob, dave)
    deliver()
    return dave


@pytest.fixture
def tea(bob, alice):
    """A list of bob's with alice in it."""
    made = create_group(UserList, bob, name="Tea")
    add_members(UserList, bob, made.pk, [alice.pk])
    return made


def shown(reader, user_list, **cursor):
    found = own_group(UserList, reader, user_list.pk)
    return [item.id for item in list_timeline(reader, found, Cursor(**cursor)).items]


def people(user_list):
    return [user.handle for user in members_page(user_list, Cursor()).items]


def test_make_change_and_delete(bob, tea):
    found: list[Any] = groups_of(UserList, bob)
    assert [(one.name, one.size) for one in found] == [("Tea", 1)]
    changed = change_group(UserList, bob, tea.pk, name="  Green \ttea ", replies_policy="none")
    assert (changed.name, changed.replies_policy, changed.is_exclusive) == (
        "Green tea",
        "none",
        False,
    )
    delete_group(UserList, bob, tea.pk)
    assert groups_of(UserList, bob) == []
    assert not ListMember.objects.exists()


@pytest.mark.parametrize(
    "fields", [{"name": " \n"}, {"name": "x" * 101}, {"name": "x", "replies_policy": "all"}]
)
def test_what_a_list_may_not_be(bob, fields):
    with pytest.raises(Invalid):
        create_group(UserList, bob, **fields)
    assert groups_of(UserList, bob) == []


def test_a_list_is_its_owners(alice, bob, tea):
    for attempt in (
        lambda: own_group(UserList, alice, tea.pk),
        lambda: change_group(UserList, alice, tea.pk, name="Mine"),
        lambda: delete_group(UserList, alice, tea.pk),
        lambda: add_members(UserList, alice, tea.pk, []),
        lambda: remove_members(UserList, alice, tea.pk, [alice.pk]),
    ):
        with pytest.raises(NotFound):
            attempt()
    assert people(tea) == ["alice"]


def test_only_followed_people_all_or_none(bob, carol, dave, tea):
    for stranger in (carol.pk, 999_999, bob.pk):
        with pytest.raises(NotFound):
            add_members(UserList, bob, tea.pk, [dave.pk, stranger])
    assert people(tea) == ["alice"]
    add_members(UserList, bob, tea.pk, [dave.pk])
    add_members(UserList, bob, tea.pk, [dave.pk])
    assert people(tea) == ["dave", "alice"]
    assert [one.pk for one in groups_with(UserList, bob, dave.pk)] == [tea.pk]


def test_there_are_bounds(bob, alice, dave, tea, monkeypatch):
    monkeypatch.setattr(UserList, "MAX_GROUPS", 1)
    with pytest.raises(Invalid):
        create_group(UserList, bob, name="More")
    monkeypatch.setattr(UserList, "MAX_MEMBERS", 1)
    with pytest.raises(Invalid):
        add_members(UserList, bob, tea.pk, [dave.pk])
    monkeypatch.setattr(UserList, "MAX_ADDED", 1)
    with pytest.raises(Invalid):
        add_members(UserList, bob, tea.pk, [dave.pk, alice.pk])


def test_who_is_refused_is_named(bob, carol, dave, tea):
    eve = make_user("eve")
    with pytest.raises(NotFound, match=r"You do not follow @carol, @eve\."):
        add_members(UserList, bob, tea.pk, [eve.pk, dave.pk, carol.pk])


def test_who_is_not_followed_any_more_is_gone_at_once_and_tidied(bob, alice, tea):
    post = publish(alice)
    assert shown(bob, tea) == [post.pk]
    unfollow_user(bob, alice)
    assert (people(tea), shown(bob, tea)) == ([], [])
    deliver()
    assert not ListMember.objects.exists()


def test_a_late_tidying_spares_who_is_followed_again(bob, alice, tea):
    unfollow_user(bob, alice)
    follow_user(bob, alice)
    deliver()
    assert people(tea) == ["alice"]


def test_what_a_list_shows(alice, bob, carol, dave, tea):
    circle = create_group(Circle, alice, name="Close")
    add_members(Circle, alice, circle.pk, [bob.pk])
    seen = [
        publish(alice, "all"),
        publish(alice, "quiet", visibility="unlisted"),
        publish(alice, "followers", visibility="followers"),
        publish(alice, "hello @bob", visibility="mentioned"),
        publish(alice, "close", visibility="circle", circle_id=circle.pk),
        repost(alice, publish(carol).pk),
    ]
    publish(alice, "hello @carol", visibility="mentioned")
    publish(dave, "not in the list")
    delete_post(publish(alice, "gone").pk, by=alice)
    expected = [post.pk for post in seen]
    assert shown(bob, tea) == expected[::-1]
    assert shown(bob, tea, max_id=expected[3], limit=2) == expected[1:3][::-1]
    assert shown(bob, tea, min_id=expected[1], limit=2) == expected[2:4][::-1]


def test_which_replies_a_list_shows(alice, bob, carol, dave, tea):
    said = {user.handle: publish(user) for user in (alice, bob, carol, dave)}
    replies = {
        handle: publish(alice, "yes", reply_to_id=post.pk).pk for handle, post in said.items()
    }
    for policy, handles in {
        "none": {"alice", "bob"},
        "list": {"alice", "bob"},
        "followed": {"alice", "bob", "dave"},
    }.items():
        change_group(UserList, bob, tea.pk, replies_policy=policy)
        found = set(shown(bob, tea)) & set(replies.values())
        assert found == {replies[handle] for handle in handles}, policy
    add_members(UserList, bob, tea.pk, [dave.pk])
    change_group(UserList, bob, tea.pk, replies_policy="list")
    assert replies["dave"] in shown(bob, tea)


@pytest.mark.parametrize("hide", ["mute", "block", "suspend"])
def test_who_is_hidden_is_hidden_in_lists(alice, bob, tea, hide):
    publish(alice)
    {
        "mute": lambda: mute_user(bob, alice),
        "block": lambda: block_user(alice, bob),
        "suspend": lambda: suspend(alice),
    }[hide]()
    assert shown(bob, tea) == []


def home(reader):
    reader = user_by_id(reader.pk)
    ids = [item.id for item in home_timeline(reader, Cursor()).items]
    assert ids == Oracle().home(reader.pk) == Oracle.of_viewer(reader.pk).home(reader.pk)
    return ids


def test_an_exclusive_list_keeps_its_people_off_the_home_page(alice, bob, dave, tea):
    theirs, mine = publish(alice), publish(bob)
    shared = repost(dave, theirs.pk)
    deliver()
    assert home(bob) == [shared.pk, mine.pk, theirs.pk]
    change_group(UserList, bob, tea.pk, is_exclusive=True)
    assert home(bob) == [shared.pk, mine.pk]  # what dave passes on is dave's
    assert shown(bob, tea) == [theirs.pk]
    assert explain(user_by_id(bob.pk), theirs.pk).item.id == shared.pk
    delete_post(shared.pk, by=dave)
    assert explain(user_by_id(bob.pk), theirs.pk).reason == Reason.LISTED
    change_group(UserList, bob, tea.pk, is_exclusive=False)
    assert home(bob) == [mine.pk, theirs.pk]


def test_deleting_an_exclusive_list_brings_its_people_back(alice, bob, tea):
    post = delivered(alice)
    change_group(UserList, bob, tea.pk, is_exclusive=True)
    assert home(bob) == []
    delete_group(UserList, bob, tea.pk)
    assert home(bob) == [post.pk]
    assert user_by_id(bob.pk).counts.exclusive_lists == 0
