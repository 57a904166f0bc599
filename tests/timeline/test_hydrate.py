import pytest

from apps.api.entities.status import status_json
from apps.engagement.actions import bookmark_post, like_post
from apps.engagement.marks import ViewerFlags
from apps.graph.actions import block_user
from apps.posts.actions.publish import delete_post
from apps.timeline.pipeline.hydrate import hydrate
from tests.support.factories import make_user, publish, repost, suspend

pytestmark = pytest.mark.django_db


def items(viewer, *posts):
    return hydrate(viewer and viewer.pk, [post.pk for post in posts]).items


def test_items_come_in_the_order_asked_without_what_may_not_be_seen(alice, bob):
    first, second, secret = publish(alice), publish(bob), publish(alice, visibility="mentioned")
    assert [item.id for item in items(bob, second, secret, first)] == [second.pk, first.pk]
    assert hydrate(None, []).items == []


def test_flags_are_what_this_viewer_did(alice, bob):
    post = publish(alice)
    like_post(bob, post.pk)
    bookmark_post(bob, post.pk)
    repost(bob, post.pk)
    assert items(bob, post)[0].flags == ViewerFlags(liked=True, bookmarked=True, reposted=True)
    assert items(alice, post)[0].flags == ViewerFlags(own=True)
    assert items(None, post)[0].flags == ViewerFlags()
    assert (items(None, post)[0].counts.likes, items(None, post)[0].counts.reposts) == (1, 1)


def test_a_repost_shows_its_source_with_the_viewers_flags(alice, bob, carol):
    source = publish(alice, "worth it")
    wrapper = repost(bob, source.pk)
    like_post(carol, source.pk)
    (item,) = items(carol, wrapper)
    assert (item.author, item.shown.author, item.shown.post.body) == (bob, alice, "worth it")
    assert item.shown.flags.liked
    assert item.shown.counts.likes == 1


def test_a_quote_whose_source_is_gone_or_hidden_says_so(alice, bob, carol):
    source = publish(alice)
    quote = publish(bob, "look", quote_of_id=source.pk)
    assert items(carol, quote)[0].quoted.id == source.pk
    block_user(alice, carol)
    hidden = items(carol, quote)[0]
    assert (hidden.quoted, hidden.lost_quote) == (None, True)
    delete_post(source.pk, by=alice)
    assert items(bob, quote)[0].lost_quote


def test_an_answer_names_whom_it_answers_unless_suspended(alice, bob):
    answer = publish(bob, reply_to_id=publish(alice).pk)
    (item,) = items(None, answer)
    assert (item.reply_to_handle, item.reply_to_author_id) == ("alice", alice.pk)
    suspend(alice)
    assert items(None, answer)[0].reply_to_handle == ""


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 25])
def test_a_page_of_reposts_quotes_and_replies_costs_the_same_queries(
    alice, bob, number, django_assert_num_queries
):
    posts = []
    for _ in range(number):
        source = publish(make_user())
        posts += [
            source,
            repost(bob, source.pk),
            publish(bob, quote_of_id=source.pk),
            publish(bob, reply_to_id=source.pk),
        ]
    items(alice, *posts)
    with django_assert_num_queries(1):  # likes and bookmarks: their filters are not built here
        assert len(items(alice, *posts)) == 4 * number
    with django_assert_num_queries(0):
        assert len(items(None, *posts)) == 4 * number


def test_a_quote_inside_a_repost_shows_what_it_quotes(alice, bob, carol):
    quoted = publish(carol, "first said")
    quote = publish(carol, "and then thought", quote_of_id=quoted.pk)
    wrapper = repost(alice, quote.pk)
    shown = hydrate(bob.pk, [wrapper.pk]).items[0].shown
    assert shown.quoted is not None
    assert (shown.id, shown.quoted.id, shown.lost_quote) == (quote.pk, quoted.pk, False)


def test_a_quote_inside_a_quote_is_left_out_and_not_called_lost(alice, bob):
    first = publish(alice, "first")
    second = publish(alice, "second", quote_of_id=first.pk)
    third = publish(alice, "third", quote_of_id=second.pk)
    item = hydrate(bob.pk, [third.pk]).items[0]
    assert item.quoted is not None
    assert item.quoted.id == second.pk
    assert (item.quoted.quoted, item.quoted.lost_quote) == (None, False)
    quote = status_json(item)["quote"]
    assert quote
    assert quote["quoted_status"]
    assert quote["quoted_status"]["quote"] is None
