from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from apps.accounts.actions import set_locked
from apps.accounts.models import User
from apps.engagement.actions import like_post, unlike_post, vote
from apps.engagement.models import Like
from apps.errors import NotFound
from apps.events import actions as events
from apps.events.leases import State
from apps.events.models import Event
from apps.graph.actions import (
    approve_request,
    block_user,
    follow_user,
    mute_user,
    reject_request,
    unfollow_user,
)
from apps.notifications.actions import (
    choose_notification_kinds,
    clear,
    dismiss,
    mark_read,
    tell_of_moderation,
)
from apps.notifications.kinds import NotificationKind
from apps.notifications.models import Notification
from apps.notifications.queries import last_read_id, notifications_page, unread_count
from apps.pagination import Cursor
from apps.posts.actions.drafts import PollDraft
from apps.posts.actions.edit import edit_post
from apps.posts.actions.mute_thread import mute_thread, unmute_thread
from apps.posts.actions.polls import end_polls
from apps.posts.actions.publish import delete_post
from apps.posts.models import Poll
from apps.timeline.publishing import undo_repost
from tests.support.factories import deliver, delivered, make_user, publish, repost
from tests.support.locks import sessions_that_wait_for_a_lock
from tests.support.threads import WAIT_SECONDS, together
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db


def told(user):
    """(kind, actor, post) of what a user was told, oldest first."""
    deliver()
    rows = Notification.objects.filter(user=user).order_by("pk")
    return [(row.kind, row.actor.handle, row.post_id) for row in rows.select_related("actor")]


@pytest.mark.slow
def test_everything_that_happens_to_somebody_is_told(alice, carol):
    post = delivered(alice)
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


@pytest.mark.slow
def test_nobody_is_told_of_themselves(alice):
    post = publish(alice, "me: @alice")
    like_post(alice, post.pk)
    publish(alice, reply_to_id=post.pk)
    repost(alice, post.pk)
    assert told(alice) == []


@pytest.mark.long
def test_doing_it_again_is_told_once(alice, carol):
    post = publish(alice)
    for _ in range(3):
        follow_user(carol, alice)
        like_post(carol, post.pk)
        repost(carol, post.pk)
        assert sorted(kind for kind, _actor, _post in told(alice)) == ["follow", "like", "repost"]
        unfollow_user(carol, alice)
        unlike_post(carol, post.pk)
        undo_repost(carol, post.pk)
        assert told(alice) == []


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_likes_whose_events_wait_since_an_upgrade_are_told(alice, carol):
    """Events of 0.2 have other names, and no kind."""
    post = publish(alice)
    Like.objects.create(user=carol, post=post)
    about = {"user_id": carol.pk, "post_id": post.pk}
    with transaction.atomic():
        events.record("post_liked", **about)
    deliver()
    assert told(alice) == [("like", "carol", post.pk)]
    Like.objects.all().delete()
    with transaction.atomic():
        events.record("post_unliked", **about)
    deliver()
    assert told(alice) == []


def test_a_late_like_of_a_deleted_post_leaves_nothing_on_the_badge(alice, carol):
    post = publish(alice)
    like_post(carol, post.pk)
    late = Event.objects.filter(name="post_marked")
    late.update(due_at=timezone.now() + timedelta(hours=1))
    delete_post(post.pk, by=alice)
    deliver()
    late.update(due_at=timezone.now())
    assert told(alice) == []


@pytest.mark.slow
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


def test_the_read_marker_never_goes_back_nor_beyond_the_newest(alice, carol):
    Notification.objects.create(pk=9, user=alice, actor=carol, kind="follow")
    for up_to, expected in ((5, 5), (3, 5), (99, 9)):
        mark_read(alice, up_to)
        assert last_read_id(alice) == expected


def test_marks_from_many_tabs_at_once_keep_the_highest(transactional_db):
    alice = make_user()
    Notification.objects.create(pk=8, user=alice, actor=make_user(), kind="follow")
    together(8, lambda index: mark_read(alice, index + 1))
    assert last_read_id(alice) == 8


@pytest.mark.slow
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


# --- requests, new posts, edits -------------------------------------------------------------------


@pytest.fixture
def locked(alice):
    return set_locked(alice, locked=True)


def test_a_request_is_told_until_it_is_answered_and_then_the_follow_is(locked, carol):
    follow_user(carol, locked)
    assert told(locked) == [("request", "carol", None)]
    approve_request(locked, carol)
    assert told(locked) == [("follow", "carol", None)]


@pytest.mark.parametrize("end", [reject_request, lambda owner, other: unfollow_user(other, owner)])
def test_a_request_that_is_gone_is_not_told_any_more(locked, carol, end):
    follow_user(carol, locked)
    assert told(locked) == [("request", "carol", None)]
    end(locked, carol)
    assert told(locked) == []
    follow_user(carol, locked)  # another one is told again
    assert told(locked) == [("request", "carol", None)]


def test_a_request_withdrawn_before_it_was_told_is_never_told(locked, carol):
    follow_user(carol, locked)
    unfollow_user(carol, locked)
    for event in Event.objects.filter(name__startswith="follow_request").order_by("-pk"):
        events.run_due(limit=1, only=[event.pk])  # in the wrong order
    assert told(locked) == []


@pytest.mark.long
def test_who_wants_to_be_told_of_new_posts_is(alice, bob, carol):
    follow_user(bob, alice, notify=True)
    follow_user(carol, alice)
    other = publish(carol)
    for draft in ({}, {"visibility": "unlisted"}, {"visibility": "followers"}):
        post = publish(alice, **draft)
        assert told(bob)[-1] == ("post", "alice", post.pk)
    said = publish(alice)
    answer = publish(alice, reply_to_id=said.pk)
    assert [post_id for _kind, _actor, post_id in told(bob)][-2:] == [said.pk, answer.pk]
    number = len(told(bob))
    repost(alice, other.pk)
    publish(alice, reply_to_id=other.pk)
    publish(alice, "for @carol", visibility="mentioned")
    assert len(told(bob)) == number
    assert {kind for kind, _actor, _post in told(carol)} == {"repost", "reply", "mention"}
    follow_user(bob, alice, notify=False)
    publish(alice)
    assert len(told(bob)) == number


def test_whom_a_post_names_is_told_once_though_they_watch(alice, bob):
    follow_user(bob, alice, notify=True)
    post = publish(alice, "hello @bob")
    assert told(bob) == [("mention", "alice", post.pk)]


def test_watchers_who_mute_are_not_told(alice, bob):
    follow_user(bob, alice, notify=True)
    mute_user(bob, alice)
    publish(alice)
    assert told(bob) == []


@pytest.mark.slow
def test_all_of_many_watchers_are_told(alice, monkeypatch):
    monkeypatch.setattr("apps.notifications.handlers.BATCH_SIZE", 2)
    crowd = [make_user() for _ in range(5)]
    for one in crowd:
        follow_user(one, alice, notify=True)
    post = delivered(alice)
    rows = Notification.objects.filter(kind="post", post=post.pk)
    assert set(rows.values_list("user", flat=True)) == {one.pk for one in crowd}


@pytest.mark.slow
def test_who_reposted_is_told_of_an_edit_once(alice, bob, carol):
    post = publish(alice)
    for person in (bob, carol):
        repost(person, post.pk)
    deaf = make_user()
    repost(deaf, post.pk)
    mute_thread(deaf, post.pk)
    block_user(alice, carol)
    for body in ("Another text.", "And another one."):
        edit_post(alice, post.pk, body=body)
        assert told(bob) == [("edit", "alice", post.pk)]
        assert told(carol) == told(deaf) == []


@pytest.mark.slow
def test_who_quoted_is_told_of_an_edit_with_the_quote(alice, bob, carol):
    post = publish(alice)
    quotes = [publish(bob, f"Look {n}", quote_of_id=post.pk).pk for n in range(2)]
    deaf = make_user()
    publish(deaf, "Look", quote_of_id=post.pk)
    mute_thread(deaf, post.pk)
    publish(carol, "Look", quote_of_id=post.pk)
    block_user(alice, carol)
    for body in ("Another text.", "And another one."):
        edit_post(alice, post.pk, body=body)
        assert sorted(told(bob)) == [("q_edit", "alice", quote) for quote in sorted(quotes)]
        assert told(carol) == told(deaf) == []


@pytest.mark.slow
@pytest.mark.parametrize("visibility", ["public", "mentioned"])
def test_who_is_mentioned_by_an_edit_is_told_once(alice, bob, carol, visibility):
    deaf = make_user("deaf")
    block_user(deaf, alice)
    deliver()
    Notification.objects.all().delete()
    post = publish(alice, "hi @bob", visibility=visibility)
    assert told(bob) == [("mention", "alice", post.pk)]
    edit_post(alice, post.pk, body="hi @bob @carol @deaf")
    assert told(carol) == told(bob) == [("mention", "alice", post.pk)]
    assert told(deaf) == []
    for user in (bob, carol):
        dismiss(user, Notification.objects.get(user=user).pk)
    edit_post(alice, post.pk, body="hi @bob @carol!")
    assert told(bob) == told(carol) == []


def test_whom_a_post_answers_is_not_told_again_by_an_edit(alice, carol):
    post = publish(carol, "So?", reply_to_id=publish(alice).pk)
    edit_post(carol, post.pk, body="So, @alice?")
    assert [kind for kind, _actor, _post in told(alice)].count("mention") == 0


def test_two_edits_before_anybody_is_told(alice, carol):
    post = delivered(alice, "hi")
    edit_post(alice, post.pk, body="hi @carol")
    edit_post(alice, post.pk, body="hi again @carol")
    assert told(carol) == [("mention", "alice", post.pk)]


def test_a_mute_may_leave_notifications(alice, carol):
    mute_user(alice, carol, notifications=False)
    publish(carol, "hello @alice")
    assert [kind for kind, _actor, _post in told(alice)] == ["mention"]
    assert unread_count(alice) == len(notifications_page(alice, Cursor()).items) == 1
    mute_user(alice, carol)
    assert unread_count(alice) == len(notifications_page(alice, Cursor()).items) == 0


# --- taken back -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_taken_back_is_told_no_more(alice, bob, carol):
    post = publish(alice)
    follow_user(carol, alice)
    for person in (bob, carol):
        like_post(person, post.pk)
        repost(person, post.pk)
    told_first = set(told(alice))
    assert {
        ("like", "carol", post.pk),
        ("repost", "carol", post.pk),
        ("follow", "carol", None),
    } <= told_first
    unlike_post(carol, post.pk)
    undo_repost(carol, post.pk)
    unfollow_user(carol, alice)
    left = told(alice)
    assert [what for what in left if what[1] == "carol"] == []
    assert {("like", "bob", post.pk), ("repost", "bob", post.pk)} <= set(left)


@pytest.mark.slow
def test_what_is_done_taken_back_and_done_again_is_told_once(alice, carol):
    post = delivered(alice)
    for _time in range(2):
        like_post(carol, post.pk)
        repost(carol, post.pk)
        follow_user(carol, alice)
        unlike_post(carol, post.pk)
        undo_repost(carol, post.pk)
        unfollow_user(carol, alice)
    assert [what for what in told(alice) if what[1] == "carol"] == []
    like_post(carol, post.pk)
    unlike_post(carol, post.pk)
    like_post(carol, post.pk)
    assert [what for what in told(alice) if what[1] == "carol"] == [("like", "carol", post.pk)]


# --- forgetting -----------------------------------------------------------------------------------


def test_one_is_dismissed_by_its_owner_only(alice, bob, carol):
    publish(carol, "hello @alice")
    publish(carol, "hello @alice @bob")
    deliver()
    first, second = Notification.objects.filter(user=alice, kind="mention").order_by("pk")
    with pytest.raises(NotFound):
        dismiss(bob, first.pk)
    assert len(told(alice)) == 3  # and that bob follows
    dismiss(alice, first.pk)
    with pytest.raises(NotFound):
        dismiss(alice, first.pk)
    left = Notification.objects.filter(user=alice, kind="mention")
    assert [row.pk for row in left] == [second.pk]


@pytest.mark.slow
def test_clearing_forgets_all_of_ones_own_in_batches(alice, bob, carol, monkeypatch):
    monkeypatch.setattr("apps.notifications.actions.DELETE_BATCH_SIZE", 2)
    for number in range(5):
        publish(carol, f"hello @alice @bob {number}")
    deliver()
    clear(alice)
    assert told(alice) == []
    assert len(told(bob)) == 5
    clear(alice)


def test_the_end_of_a_poll_is_told_to_who_voted_and_who_asked(alice, bob, carol):
    poll = PollDraft(["Red", "Green"], 300, multiple=True)
    post = publish(alice, "Which?", poll=poll)
    vote(bob, post.pk, [0, 1])
    vote(carol, post.pk, [1])
    block_user(carol, alice)
    deliver()
    before = told(alice)
    Poll.objects.update(expires_at=timezone.now())
    for _ in range(2):
        end_polls(limit=10)
    assert ("poll", "alice", post.pk) in told(bob)
    assert ("poll", "alice", post.pk) not in told(carol)
    assert told(alice)[len(before) :] == [("poll", "alice", post.pk)]
    assert Notification.objects.filter(kind="poll").count() == 2


def test_the_end_of_ones_own_poll_is_not_told_to_who_does_not_want_it(alice, bob):
    posts = [
        publish(author, "Which?", poll=PollDraft(["Red", "Green"], 300)) for author in (alice, bob)
    ]
    wanted = {kind for kind in NotificationKind if kind != NotificationKind.POLL}
    choose_notification_kinds(alice, wanted)
    mute_thread(bob, posts[1].pk)
    deliver()
    Poll.objects.update(expires_at=timezone.now())
    end_polls(limit=10)
    deliver()
    assert not Notification.objects.filter(kind="poll").exists()


@pytest.mark.django_db(transaction=True)
def test_two_decisions_at_once_are_one_notification(alice):
    tell_of_moderation(alice)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            tell_of_moderation(alice)
            second = pool.submit(together, 1, lambda _number: tell_of_moderation(alice))
            # or fails, if a pause of the machine is longer than its lock timeout: its error is raised below
            wait_until(
                lambda: second.done() or sessions_that_wait_for_a_lock(),
                "the second decision waits for the first one",
            )
        second.result(WAIT_SECONDS)
    assert Notification.objects.get(user=alice).kind == NotificationKind.STRIKE
