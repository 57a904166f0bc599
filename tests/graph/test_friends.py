"""Friends: who follows an account and is followed by it, as a list and as a circle that keeps itself."""

import pytest

from apps.graph.actions import block_user, follow_user, unfollow_user
from apps.graph.queries import exact_relations, friend_ids, friends_count
from tests.support.factories import make_user
from tests.support.pages import EMPTY

pytestmark = pytest.mark.django_db


@pytest.fixture
def friends(alice, bob, carol):
    """Two friends of alice's, the last one first; bob only follows her, carol is only followed."""
    follow_user(alice, carol)
    made = [make_user("dora"), make_user("emil")]
    for one in made:
        follow_user(one, alice)
        follow_user(alice, one)
    return made[::-1]


@pytest.mark.slow
def test_friends_follow_each_other(alice, bob, carol, friends):
    assert friend_ids(alice.pk) == {one.pk for one in friends}
    assert friends_count(alice.pk) == 2
    others = [bob.pk, carol.pk, *(one.pk for one in friends)]
    assert exact_relations(alice.pk, others).friends == friend_ids(alice.pk)
    unfollow_user(alice, friends[0])
    assert friend_ids(alice.pk) == {friends[1].pk}
    block_user(friends[1], alice)
    assert friend_ids(alice.pk) == set()


def test_the_list_is_a_page_and_an_endpoint(alice, friends, page_of, api_of):
    text = page_of(None).get("/@alice/friends").text
    assert text.index("@emil") < text.index("@dora")
    assert "@bob" not in text
    assert "@carol" not in text
    path = f"/api/x/accounts/{alice.pk}/friends"
    assert [one["acct"] for one in api_of(None).get(path).json()] == ["emil", "dora"]
    first = api_of(None).get(path, {"limit": 1})
    assert [one["acct"] for one in first.json()] == ["emil"]
    older = first.headers["Link"].partition("<")[2].partition(">")[0]
    assert [one["acct"] for one in api_of(None).get(older).json()] == ["dora"]


def test_without_friends_the_page_says_so(bob, page_of):
    assert EMPTY in page_of(bob).get("/@bob/friends").text


@pytest.mark.slow
def test_friends_are_a_circle_that_nobody_fills(alice, friends, page_of):
    page = page_of(alice)
    assert "2 members" in page.get("/settings/circles").text
    unfollow_user(friends[0], alice)
    text = page.get("/settings/circles").text
    assert "1 member<" in text.replace(" ·", "<")
    assert "/@alice/friends" in text
