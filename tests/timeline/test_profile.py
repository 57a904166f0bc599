import pytest

from apps.graph.actions import block_user, mute_user
from apps.paging import Cursor
from apps.posts.actions import delete_post, repost
from apps.timeline.profile import profile_timeline
from tests.factories import publish

pytestmark = pytest.mark.django_db


def ids(author, viewer, *, replies=True, **cursor):
    page = profile_timeline(author, viewer and viewer.pk, Cursor(**cursor), replies=replies)
    return [item.id for item in page.items]


def walk(author, viewer, limit):
    seen, cursor = [], Cursor(limit=limit)
    while True:
        page = profile_timeline(author, viewer and viewer.pk, cursor, replies=True)
        seen += [item.id for item in page.items]
        if page.older is None:
            return seen
        cursor = Cursor(max_id=page.older, limit=limit)


def test_each_viewer_sees_of_an_author_what_is_for_them(alice, bob, carol):
    public = publish(alice).pk
    unlisted = publish(alice, visibility="unlisted").pk
    followers = publish(alice, visibility="followers").pk
    named = publish(alice, "hello @carol", visibility="mentioned").pk
    assert ids(alice, None) == [unlisted, public]
    assert ids(alice, bob) == [followers, unlisted, public]
    assert ids(alice, carol) == [named, unlisted, public]
    assert ids(alice, alice) == [named, followers, unlisted, public]


def test_replies_and_reposts(alice, bob):
    own, theirs = publish(alice).pk, publish(bob).pk
    answer = publish(alice, reply_to_id=theirs).pk
    shared = repost(alice, theirs).pk
    assert ids(alice, None) == [shared, answer, own]
    assert ids(alice, None, replies=False) == [shared, own]


def test_a_mute_does_not_empty_the_profile_but_a_block_does(alice, bob):
    post = publish(alice).pk
    mute_user(bob, alice)
    assert ids(alice, bob) == [post]
    block_user(alice, bob)
    assert ids(alice, bob) == ids(bob, alice) == []


def test_a_repost_goes_with_what_it_shares(alice, bob):
    source = publish(bob)
    repost(alice, source.pk)
    delete_post(source.pk, by=bob)
    assert ids(alice, None) == []


@pytest.mark.parametrize("limit", [1, 3, 7, 8])
def test_a_profile_is_walked_without_loss_past_what_is_hidden(alice, carol, limit):
    posts = [
        publish(alice, f"post {n}", visibility=("public", "followers")[n % 2]).pk for n in range(14)
    ]
    assert walk(alice, carol, limit) == posts[::2][::-1]
    assert walk(alice, alice, limit) == posts[::-1]


@pytest.mark.parametrize("number", [1, 20])
def test_a_page_costs_the_same_queries_for_one_post_and_twenty(
    alice, bob, number, django_assert_num_queries
):
    for _ in range(number):
        publish(alice)
    ids(alice, bob)
    # how they stand, ids; gate, relations, authors, likes and bookmarks, reposts
    with django_assert_num_queries(7):
        assert len(ids(alice, bob)) == number
