import pytest

from apps.engagement.actions import bookmark_post, like_post, unbookmark_post, unlike_post
from apps.engagement.models import Bookmark, Like
from apps.engagement.queries import engaged
from apps.errors import NotFound
from apps.events.models import Event
from apps.graph.actions import block_user, unfollow_user
from apps.posts.actions.publish import delete_post
from apps.posts.models import PostCounts
from tests.support.factories import make_user, publish, repost
from tests.support.threads import together

pytestmark = pytest.mark.django_db

ACTS = [
    (like_post, unlike_post, "likes", Like),
    (bookmark_post, unbookmark_post, "bookmarks", Bookmark),
]


def count(post, column):
    return getattr(PostCounts.objects.get(pk=post.pk), column)


@pytest.mark.parametrize(("do", "undo", "column", "model"), ACTS)
def test_twice_is_once_and_undoing_twice_is_undoing_once(alice, carol, do, undo, column, model):
    post = publish(alice)
    for _ in range(2):
        do(carol, post.pk)
    assert (count(post, column), model.objects.count()) == (1, 1)
    for _ in range(2):
        undo(carol, post.pk)
    assert (count(post, column), model.objects.count()) == (0, 0)


@pytest.mark.parametrize(("do", "undo", "column", "model"), ACTS)
def test_what_was_never_done_cannot_be_undone(alice, carol, do, undo, column, model):
    post = publish(alice)
    undo(carol, post.pk)
    undo(carol, 5)
    undo(carol, 10**19)
    assert count(post, column) == 0


@pytest.mark.parametrize(("do", "undo", "column", "model"), ACTS)
def test_sixteen_equal_requests_at_once_are_one(transactional_db, do, undo, column, model):
    post, carol = publish(make_user()), make_user()
    together(16, lambda _index: do(carol, post.pk))
    assert (count(post, column), model.objects.count()) == (1, 1)
    together(16, lambda _index: undo(carol, post.pk))
    assert (count(post, column), model.objects.count()) == (0, 0)


@pytest.mark.slow
def test_a_crowd_that_likes_and_unlikes_at_once_is_counted_exactly(transactional_db):
    post, crowd = publish(make_user()), [make_user() for _ in range(12)]

    def like(index):
        for _ in range(3):
            like_post(crowd[index], post.pk)
            unlike_post(crowd[index], post.pk)
        if index % 2:
            like_post(crowd[index], post.pk)

    together(12, like)
    assert count(post, "likes") == Like.objects.count() == 6


@pytest.mark.parametrize(("do", "undo", "column", "model"), ACTS)
def test_on_a_repost_everything_means_what_it_shares(alice, bob, carol, do, undo, column, model):
    source = publish(alice)
    wrapper = repost(bob, source.pk)
    do(carol, wrapper.pk)
    assert (count(source, column), count(wrapper, column)) == (1, 0)
    undo(carol, wrapper.pk)
    assert (count(source, column), model.objects.count()) == (0, 0)
    do(carol, wrapper.pk)
    delete_post(wrapper.pk, by=bob)
    undo(carol, wrapper.pk)
    assert count(source, column) == 0


def hide(alice, bob, post, how):
    if how == "deleted":
        delete_post(post.pk, by=alice)
    elif how == "blocked":
        block_user(alice, bob)
    else:
        unfollow_user(bob, alice)


@pytest.mark.parametrize("how", ["deleted", "blocked", "restricted"])
@pytest.mark.parametrize(("do", "undo", "column", "model"), ACTS)
def test_what_cannot_be_seen_cannot_be_liked_but_a_like_can_be_taken_back(
    alice, bob, how, do, undo, column, model
):
    liked, other = (publish(alice, visibility="followers") for _ in range(2))
    do(bob, liked.pk)
    for post in (liked, other):
        if how != "blocked" or post is liked:
            hide(alice, bob, post, how)
    with pytest.raises(NotFound) as hidden:
        do(bob, other.pk)
    with pytest.raises(NotFound) as absent:
        do(bob, 5)
    assert hidden.value.message == absent.value.message
    undo(bob, liked.pk)
    assert (count(liked, column), count(other, column)) == (0, 0)


def test_a_like_is_news_and_a_bookmark_is_private(alice, carol):
    post = publish(alice)
    bookmark_post(carol, post.pk)
    assert not Event.objects.filter(name="post_marked").exists()
    like_post(carol, post.pk)
    like_post(carol, post.pk)
    payloads = Event.objects.filter(name="post_marked").values_list("payload", flat=True)
    assert list(payloads) == [{"kind": "like", "user_id": carol.pk, "post_id": post.pk}]


@pytest.mark.parametrize("number", [1, 20])
def test_what_a_viewer_did_costs_one_query(alice, carol, number, django_assert_num_queries):
    posts = [publish(alice).pk for _ in range(number)]
    like_post(carol, posts[0])
    bookmark_post(carol, posts[-1])
    with django_assert_num_queries(1):
        found = engaged(carol.pk, posts)
    assert (found.posts("liked"), found.posts("bookmarked")) == ({posts[0]}, {posts[-1]})
    with django_assert_num_queries(0):
        assert engaged(None, posts).posts("liked") == set()
        assert engaged(carol.pk, []).posts("liked") == set()


@pytest.mark.parametrize(("do", "undo", "column", "model"), ACTS)
def test_a_repost_is_no_way_around_a_block(alice, bob, carol, do, undo, column, model):
    post = publish(alice)
    shared = repost(bob, post.pk)
    block_user(alice, carol)
    with pytest.raises(NotFound):
        do(carol, shared.pk)
    assert (count(post, column), model.objects.count()) == (0, 0)
