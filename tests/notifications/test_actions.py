from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.engagement.actions import like_post, unlike_post
from apps.events.leases import State
from apps.events.models import Event
from apps.graph.actions import block_user, follow_user, mute_user, unfollow_user
from apps.notifications.actions import mark_read
from apps.notifications.models import Notification
from apps.notifications.queries import last_read_id
from apps.posts.actions import delete_post, repost, unrepost
from apps.posts.muting import mute_thread, unmute_thread
from tests.factories import deliver, make_user, publish
from tests.threads import together

pytestmark = pytest.mark.django_db


def told(user):
    """(kind, actor, post) of what a user was told, oldest first."""
    deliver()
    rows = Notification.objects.filter(user=user).order_by("pk")
    return [(row.kind, row.actor.handle, row.post_id) for row in rows.select_related("actor")]


def test_everything_that_happens_to_somebody_is_told(alice, carol):
    post = publish(alice)
    deliver()
    follow_user(carol, alice)
    like_post(carol, post.pk)
    repost(carol, post.pk)
    answer = publish(carol, reply_to_id=post.pk)
    mention = publish(carol, "hello @alice")
    quote = publish(carol, quote_of_id=post.pk)
    assert told(alice) == [
        ("follow", "carol", None),
        ("like", "carol", post.pk),
        ("repost", "carol", post.pk),
        ("reply", "carol", answer.pk),
        ("mention", "carol", mention.pk),
        ("quote", "carol", quote.pk),
    ]
    assert told(carol) == []


def test_one_post_is_told_once_for_its_weightiest_reason(alice, carol):
    post = publish(alice)
    answer = publish(carol, "@alice", reply_to_id=post.pk, quote_of_id=post.pk)
    assert told(alice) == [("reply", "carol", answer.pk)]


def test_nobody_is_told_of_themselves(alice):
    post = publish(alice, "me: @alice")
    like_post(alice, post.pk)
    publish(alice, reply_to_id=post.pk)
    repost(alice, post.pk)
    assert told(alice) == []


def test_doing_it_again_is_told_once(alice, carol):
    post = publish(alice)
    for _ in range(3):
        follow_user(carol, alice)
        like_post(carol, post.pk)
        repost(carol, post.pk)
        deliver()
        unfollow_user(carol, alice)
        unlike_post(carol, post.pk)
        unrepost(carol, post.pk)
        deliver()
    assert sorted(kind for kind, _actor, _post in told(alice)) == ["follow", "like", "repost"]


def test_an_event_that_runs_twice_tells_once(alice, carol):
    follow_user(carol, alice)
    publish(carol, "hello @alice")
    before = told(alice)
    Event.objects.update(state=State.PENDING, due_at=timezone.now())
    assert told(alice) == before


@pytest.mark.parametrize("sever", [mute_user, block_user])
def test_the_muted_and_blocked_tell_nothing(alice, carol, sever):
    post = publish(alice)
    like_post(carol, post.pk)
    publish(carol, "hello @alice")
    sever(alice, carol)
    assert told(alice) == []


def test_nobody_is_told_of_a_post_they_may_not_see(alice, bob, carol):
    post = publish(alice, "secret", visibility="followers")
    publish(bob, "an answer naming @carol", reply_to_id=post.pk, visibility="mentioned")
    block_user(carol, alice)
    publish(alice, "hello @carol")
    assert [actor for _kind, actor, _post in told(carol)] == ["bob"]


def test_news_of_a_post_that_is_gone_by_then_is_not_told(alice, carol):
    post = publish(alice)
    mention = publish(carol, "hello @alice")
    like_post(carol, post.pk)
    delete_post(mention.pk, by=carol)
    delete_post(post.pk, by=alice)
    assert told(alice) == []


def test_a_late_like_of_a_deleted_post_leaves_nothing_on_the_badge(alice, carol):
    post = publish(alice)
    like_post(carol, post.pk)
    late = Event.objects.filter(name="post_liked")
    late.update(due_at=timezone.now() + timedelta(hours=1))
    delete_post(post.pk, by=alice)
    deliver()
    late.update(due_at=timezone.now())
    assert told(alice) == []


def test_a_delete_and_a_block_take_back_what_was_told(alice, carol):
    dora = make_user("dora")
    post = publish(alice)
    for person in (carol, dora):
        follow_user(person, alice)
        like_post(person, post.pk)
    assert len(told(alice)) == 4
    delete_post(post.pk, by=alice)
    assert told(alice) == [("follow", "carol", None), ("follow", "dora", None)]
    block_user(alice, carol)
    assert told(alice) == [("follow", "dora", None)]


def test_a_suspended_actor_tells_nothing(alice, carol):
    publish(carol, "hello @alice")
    User.objects.filter(pk=carol.pk).update(suspended_at=timezone.now())
    assert told(alice) == []


def test_the_read_marker_never_goes_back(alice):
    for up_to, expected in ((5, 5), (3, 5), (9, 9)):
        mark_read(alice, up_to)
        assert last_read_id(alice) == expected


def test_marks_from_many_tabs_at_once_keep_the_highest(transactional_db):
    alice = make_user()
    together(8, lambda index: mark_read(alice, index + 1))
    assert last_read_id(alice) == 8


def test_a_muted_thread_tells_nothing_until_it_is_heard_again(alice, bob, carol):
    post = publish(alice)
    answer = publish(bob, reply_to_id=post.pk)
    deliver()
    mute_thread(alice, answer.pk)
    before = told(alice)
    publish(carol, "@alice look", reply_to_id=answer.pk)
    like_post(carol, post.pk)
    repost(carol, post.pk)
    assert told(alice) == before
    outside = publish(carol, "@alice look")
    unmute_thread(alice, post.pk)
    again = publish(carol, "@alice again", reply_to_id=answer.pk)
    assert told(alice)[len(before) :] == [
        ("mention", "carol", outside.pk),
        ("mention", "carol", again.pk),
    ]
