import pytest

from apps.graph.actions import block_user, mute_user
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.timeline.public import public_timeline
from tests.support.factories import make_user, publish, repost, suspend

pytestmark = pytest.mark.django_db


def ids(viewer, **cursor):
    return [item.id for item in public_timeline(viewer, Cursor(**cursor)).items]


def test_public_is_what_is_said_to_everybody_and_no_repost(alice, bob):
    public = publish(alice)
    for visibility in ("unlisted", "followers", "mentioned"):
        publish(alice, "hello @bob", visibility=visibility)
    delete_post(publish(alice).pk, by=alice)
    repost(bob, public.pk)
    answer = publish(bob, reply_to_id=public.pk)
    for viewer in (None, alice, bob):
        assert ids(viewer) == [answer.pk, public.pk]


def test_public_leaves_out_the_muted_blocked_and_suspended(alice, bob, carol):
    dora = make_user()
    posts = {person: publish(person).pk for person in (alice, bob, carol, dora)}
    mute_user(alice, bob)
    block_user(carol, alice)
    suspend(dora)
    assert ids(alice) == [posts[alice]]
    assert ids(None) == [posts[carol], posts[bob], posts[alice]]


@pytest.mark.parametrize("limit", [1, 2, 5, 6])
def test_public_is_walked_both_ways_without_loss(alice, carol, limit):
    posts = [publish((alice, carol)[n % 2], f"post {n}").pk for n in range(11)][::-1]
    down, cursor = [], Cursor(limit=limit)
    while True:
        page = public_timeline(None, cursor)
        down += [item.id for item in page.items]
        if page.older is None:
            break
        cursor = Cursor(max_id=page.older, limit=limit)
    up: list[int] = []
    cursor = Cursor(min_id=0, limit=limit)
    while (page := public_timeline(None, cursor)).items:
        up = [item.id for item in page.items] + up
        cursor = Cursor(min_id=page.newer, limit=limit)
    assert down == up == sorted(posts, reverse=True)


def test_a_long_run_of_muted_posts_is_walked_past(alice, carol):
    wanted = publish(alice).pk
    for _ in range(25):
        publish(carol)
    mute_user(alice, carol)
    seen, cursor = [], Cursor(limit=2)
    while True:
        page = public_timeline(alice, cursor)
        seen += [item.id for item in page.items]
        if page.older is None:
            break
        cursor = Cursor(max_id=page.older, limit=2)
    assert seen == [wanted]
