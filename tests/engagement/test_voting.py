from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import BytesIO

import pytest
from django.db import transaction
from django.utils import timezone

from apps.engagement.actions import vote
from apps.engagement.models import Vote
from apps.engagement.queries import poll_results
from apps.engagement.reconcile import recount_running_polls
from apps.errors import Invalid, NotFound
from apps.events.actions import EVENTS
from apps.graph.actions import block_user
from apps.posts.actions import polls
from apps.posts.actions.drafts import PollDraft
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Poll
from apps.posts.queries import visible_posts
from tests.support.factories import deliver, make_user, publish
from tests.support.locks import sessions_that_wait_for_a_lock
from tests.support.pictures import picture
from tests.support.threads import WAIT_SECONDS, together
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db

COLOURS = PollDraft(["Red", "Green", "Blue"], 3600)
SEVERAL = PollDraft(["Red", "Green", "Blue"], 3600, multiple=True)


def result(post, viewer=None):
    return poll_results(viewer and viewer.pk, [post.pk])[post.pk]


def end(post):
    Poll.objects.filter(pk=post.pk).update(expires_at=timezone.now() - timedelta(minutes=5))


def test_votes_are_counted_and_remembered(alice, bob, carol):
    post = publish(alice, "Which?", poll=SEVERAL)
    vote(bob, post.pk, [2, 0, 2])
    vote(carol, post.pk, [0])
    assert (result(post).votes, result(post).voters) == ((2, 0, 1), 2)
    assert [result(post, user).own for user in (bob, carol, alice)] == [(0, 2), (0,), ()]


def test_whoever_has_voted_has_voted(alice, bob):
    post = publish(alice, "Which?", poll=COLOURS)
    vote(bob, post.pk, [1])
    for choice in (0, 1):
        with pytest.raises(Invalid, match="already"):
            vote(bob, post.pk, [choice])
    assert result(post).votes == (0, 1, 0)


@pytest.mark.parametrize("choices", [[], [3], [-1], [0, 1]])
def test_choices_that_cannot_be_are_refused(alice, bob, choices):
    post = publish(alice, "Which?", poll=COLOURS)
    with pytest.raises(Invalid):
        vote(bob, post.pk, choices)
    assert not Vote.objects.exists()


def test_nobody_votes_in_their_own_poll_or_in_one_that_is_over_or_hidden(alice, bob, carol):
    post = publish(alice, "Which?", poll=COLOURS)
    hidden = publish(alice, "Which?", poll=COLOURS, visibility="followers")
    with pytest.raises(Invalid, match="own"):
        vote(alice, post.pk, [0])
    for number in (hidden.pk, publish(alice).pk, 5):
        with pytest.raises(NotFound):
            vote(carol, number, [0])
    vote(bob, hidden.pk, [0])
    end(post)
    with pytest.raises(Invalid, match="over"):
        vote(bob, post.pk, [0])
    block_user(alice, bob)
    with pytest.raises(NotFound):
        vote(bob, post.pk, [0])


@pytest.mark.django_db(transaction=True)
def test_many_votes_at_once_are_each_counted_once(alice):
    post = publish(alice, "Which?", poll=COLOURS)
    voters = [make_user() for _ in range(4)]

    def cast(index):
        try:
            vote(voters[index % 4], post.pk, [index % 3])
        except Invalid:
            return False
        return True

    assert sum(together(12, cast)) == 4
    found = result(post)
    assert (sum(found.votes), found.voters, Vote.objects.count()) == (4, 4, 4)


BAD = [
    PollDraft(["One"], 3600), PollDraft([], 3600), PollDraft(list("abcde"), 3600), PollDraft(["a", "a "], 3600),
    PollDraft(["a", " "], 3600), PollDraft(["a", "b" * 51], 3600), PollDraft(["a", "b"], 299),
    PollDraft(["a", "b"], 2_678_401), PollDraft(["a", "b"], -1), PollDraft(["a", "\u200b"], 3600),
]  # fmt: skip


@pytest.mark.parametrize("draft", BAD)
def test_polls_that_break_a_rule_are_refused(alice, draft):
    with pytest.raises(Invalid):
        publish(alice, "Which?", poll=draft)
    assert not Poll.objects.exists()


def test_a_poll_needs_a_text(alice):
    with pytest.raises(Invalid):
        publish(alice, "", poll=COLOURS)


@pytest.mark.usefixtures("media")
def test_a_poll_may_stand_beside_pictures(alice, bob, page_of):
    upload = upload_picture(alice, BytesIO(picture()), alt="A wall")
    post = publish(alice, "Which?", poll=COLOURS, media_ids=[upload.pk])
    page = page_of(bob).get(f"/@alice/{post.pk}").text
    assert COLOURS.options[0] in page
    assert 'alt="A wall"' in page
    edit_post(alice, post.pk, body="Which one?", poll=PollDraft(["Red", "Yellow"], 3600))
    content = visible_posts(bob.pk, [post.pk]).posts[post.pk]
    assert content.poll is not None
    assert (content.poll.options, len(content.pictures)) == (("Red", "Yellow"), 1)


def test_an_edit_that_asks_again_drops_the_votes_and_one_that_does_not_keeps_them(alice, bob):
    post = publish(alice, "Which?", poll=COLOURS)
    vote(bob, post.pk, [1])
    edit_post(alice, post.pk, body="Which one?")
    edit_post(
        alice, post.pk, body="Which one?", poll=PollDraft(COLOURS.options, 7200, hide_totals=True)
    )
    assert (result(post).votes, result(post, bob).own) == ((0, 1, 0), (1,))
    edit_post(alice, post.pk, body="Which one?", poll=PollDraft(["Red", "Yellow"], 3600))
    assert (result(post).votes, result(post, bob).own) == ((0, 0), ())
    content = visible_posts(bob.pk, [post.pk]).posts[post.pk]
    assert content.poll
    assert content.poll.options == ("Red", "Yellow")
    plain = publish(alice, "No poll yet.")
    edit_post(alice, plain.pk, body="Which?", poll=COLOURS)
    vote(bob, plain.pk, [0])


@pytest.mark.django_db(transaction=True)
def test_a_vote_while_other_options_replace_the_poll_is_refused(alice, bob):
    post = publish(alice, "Which?", poll=COLOURS)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            edit_post(alice, post.pk, body="Which?", poll=PollDraft(["Red", "Yellow"], 3600))
            voting = pool.submit(together, 1, lambda _number: vote(bob, post.pk, [2]))
            wait_until(
                lambda: voting.done() or sessions_that_wait_for_a_lock(),
                "the vote waits for the edit",
            )
        with pytest.raises(NotFound):
            voting.result(WAIT_SECONDS)
    assert result(post).votes == (0, 0)


def test_the_end_of_a_poll_is_told_once(alice, monkeypatch):
    told = []
    monkeypatch.setattr(polls, "record", lambda name, **payload: told.append((name, payload)))
    over, running, gone = (publish(alice, "Which?", poll=COLOURS) for _ in range(3))
    end(over)
    end(gone)
    delete_post(gone.pk, by=alice)
    assert (polls.end_polls(limit=10), polls.end_polls(limit=10)) == (1, 0)
    assert told == [("poll_ended", {"post_id": over.pk})]
    assert "poll_ended" in EVENTS
    assert not Poll.objects.get(pk=running.pk).is_ended


def test_a_poll_that_is_extended_at_its_end_goes_on(alice, monkeypatch):
    first, extended = (publish(alice, "Which?", poll=COLOURS) for _ in range(2))
    end(first)
    Poll.objects.filter(pk=extended.pk).update(expires_at=timezone.now())
    told = []

    def extend(_name, post_id):  # after the expired polls were found
        told.append(post_id)
        edit_post(alice, extended.pk, body="Which?", poll=PollDraft(COLOURS.options, 7200))

    monkeypatch.setattr(polls, "record", extend)
    assert polls.end_polls(limit=10) == 2
    assert told == [first.pk]
    assert not Poll.objects.get(pk=extended.pk).is_ended


def test_a_deleted_poll_says_nothing(alice):
    post = publish(alice, "Which?", poll=COLOURS)
    delete_post(post.pk, by=alice)
    assert Poll.objects.get(pk=post.pk).options == []


def test_counts_that_drifted_are_put_right_while_the_poll_runs(alice, bob, carol):
    right, wrong, gone = (publish(alice, "Which?", poll=SEVERAL) for _poll in range(3))
    for post in (right, wrong, gone):
        vote(bob, post.pk, [0, 2])
        vote(carol, post.pk, [2])
    delete_post(gone.pk, by=alice)
    Poll.objects.filter(pk=wrong.pk).update(votes=[7, 0, 0], voters=1)
    assert recount_running_polls(seconds=5) == 1
    assert result(wrong) == result(right)
    assert recount_running_polls(seconds=5) == 0


def test_the_last_count_of_a_poll_is_made_when_it_ends(alice, bob):
    post = publish(alice, "Which?", poll=COLOURS)
    vote(bob, post.pk, [1])
    Poll.objects.filter(pk=post.pk).update(votes=[0, 0, 0], voters=0)
    end(post)
    polls.end_polls(limit=10)
    deliver()
    assert (result(post).votes, result(post).voters) == ((0, 1, 0), 1)
