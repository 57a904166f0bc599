import pytest

from apps.errors import NotFound
from apps.graph.actions import block_user, mute_user
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post, PostCounts
from apps.timeline.thread import (
    MAX_ANCESTORS,
    MAX_CONTEXT_ANCESTORS,
    MAX_DESCENDANTS,
    thread,
    visible_item,
)
from feedcache.ids import compose
from tests.support.factories import make_user, publish, suspend
from tests.support.faults import dead_redis

pytestmark = pytest.mark.django_db


def above(viewer, post):
    return [item and item.id for item in thread(viewer and viewer.pk, post.pk).ancestors]


def below(viewer, post):
    return [item.id for item in thread(viewer and viewer.pk, post.pk).descendants]


def reply(author, parent, **fields):
    return publish(author, "an answer", reply_to_id=parent.pk, **fields)


def chain(author, length):
    """Answers to answers, made long ago."""
    ids = [compose(1_750_000_000 + n, author.pk, 0) for n in range(length)]
    Post.objects.bulk_create(
        Post(
            id=one,
            author=author,
            body=str(n),
            thread_id=ids[0],
            reply_to_id=ids[n - 1] if n else None,
        )
        for n, one in enumerate(ids)
    )
    PostCounts.objects.bulk_create(PostCounts(post_id=one) for one in ids)
    return ids


def test_a_thread_is_what_a_post_answers_and_what_answers_it(alice, bob, carol):
    root = publish(alice)
    question = reply(bob, root)
    answer = reply(carol, question)
    other = reply(carol, root)
    assert (above(None, question), below(None, question)) == ([root.pk], [answer.pk])
    assert (above(None, root), below(None, root)) == ([], [question.pk, answer.pk, other.pk])
    assert above(None, answer) == [root.pk, question.pk]


def test_an_authors_own_continuation_comes_first_then_time(alice, bob):
    root = publish(alice)
    bobs = reply(bob, root)
    own = reply(alice, root)
    bobs_own = reply(bob, bobs)
    own_again = reply(alice, own)
    to_bob = reply(alice, bobs)
    assert below(None, root) == [own.pk, own_again.pk, bobs.pk, bobs_own.pk, to_bob.pk]


def test_a_post_that_is_gone_leaves_a_gap_and_its_answers_stay(alice, bob, carol):
    root = publish(alice)
    middle = reply(bob, root)
    leaf = reply(carol, middle)
    delete_post(middle.pk, by=bob)
    assert above(None, leaf) == [root.pk, None]
    assert below(None, root) == [leaf.pk]
    with pytest.raises(NotFound):
        thread(None, middle.pk)


def test_blocked_suspended_and_muted_people_are_left_out(alice, bob, carol):
    dora, root = make_user("dora"), publish(alice)
    answers = {person.handle: reply(person, root).pk for person in (bob, carol, dora)}
    mute_user(alice, bob)
    block_user(carol, alice)
    suspend(dora)
    assert below(alice, root) == []
    assert below(None, root) == [answers["bob"], answers["carol"]]


def test_restricted_answers_are_for_those_they_are_for(alice, bob, carol):
    root = publish(alice)
    for_followers = reply(alice, root, visibility="followers")
    assert below(bob, root) == [for_followers.pk]
    assert below(carol, root) == below(None, root) == []


def test_hidden_and_absent_threads_are_the_same_answer(alice, carol):
    hidden = publish(alice, visibility="followers")
    messages = set()
    for post_id in (hidden.pk, 5, 0, 2**63 - 1, 2**63, 10**30):
        with pytest.raises(NotFound) as refusal:
            thread(carol.pk, post_id)
        messages.add(refusal.value.message)
    assert len(messages) == 1


def test_a_deep_thread_is_bounded_and_keeps_the_nearest_ancestors(alice):
    ids = chain(alice, 300)
    found = thread(None, ids[150])
    assert [item and item.id for item in found.ancestors] == ids[150 - MAX_ANCESTORS : 150]
    assert [item.id for item in found.descendants] == ids[151 : 151 + MAX_DESCENDANTS]
    assert found.more
    assert not thread(None, ids[-1]).more


def test_the_context_of_the_api_reaches_higher(alice, api_of):
    ids = chain(alice, MAX_CONTEXT_ANCESTORS + 150)
    body = api_of(None).get(f"/api/v1/statuses/{ids[70]}/context").json()
    assert [int(post["id"]) for post in body["ancestors"]] == ids[:70]
    middle = MAX_CONTEXT_ANCESTORS + 5
    body = api_of(None).get(f"/api/v1/statuses/{ids[middle]}/context").json()
    assert [int(post["id"]) for post in body["ancestors"]] == ids[5:middle]
    assert [int(post["id"]) for post in body["descendants"]] == ids[middle + 1 :][:MAX_DESCENDANTS]


@pytest.mark.slow
def test_the_longest_context_without_redis(alice, api_of):
    ids = chain(alice, MAX_CONTEXT_ANCESTORS + 1 + MAX_DESCENDANTS)
    with dead_redis():
        body = api_of(None).get(f"/api/v1/statuses/{ids[MAX_CONTEXT_ANCESTORS]}/context").json()
    assert [int(post["id"]) for post in body["ancestors"]] == ids[:MAX_CONTEXT_ANCESTORS]
    assert [int(post["id"]) for post in body["descendants"]] == ids[MAX_CONTEXT_ANCESTORS + 1 :]


@pytest.mark.slow
def test_a_thread_of_thousands_neither_fails_nor_recurses(alice):
    ids = chain(alice, 2500)
    found = thread(None, ids[0])
    assert len(found.descendants) == MAX_DESCENDANTS
    assert found.more
    assert thread(None, ids[-1]).focus.id == ids[-1]


@pytest.mark.parametrize("number", [2, 40])
def test_a_thread_costs_the_same_queries_however_long(
    alice, bob, number, django_assert_num_queries
):
    ids = chain(alice, number)
    thread(bob.pk, ids[0])
    # the thread's edges, likes and bookmarks of its posts
    with django_assert_num_queries(2):
        assert len(thread(bob.pk, ids[0]).descendants) == number - 1


def test_one_item_is_what_the_viewer_may_see(alice, bob):
    post = publish(alice, visibility="followers")
    assert visible_item(bob.pk, post.pk).id == post.pk
    with pytest.raises(NotFound):
        visible_item(None, post.pk)
