"""What a post answers is named to those only who may see that too: in the API, in streams and on pages."""

import json

import pytest

from apps.graph.actions import block_user, follow_user, unblock_user, unfollow_user
from apps.moderation.actions import restore_user
from apps.posts import queries
from apps.posts.actions.publish import delete_post
from apps.posts.queries import ViewerContext
from apps.streaming.queries import events_of_post
from apps.streaming.streams import Stream
from apps.timeline.pipeline.hydrate import hydrate, hydrate_for
from tests.support.factories import deliver, make_user, moderator, publish, repost, suspend
from tests.support.faults import dead_memcached

pytestmark = pytest.mark.django_db


@pytest.fixture
def dora(bob, carol):
    """Whom bob reads: she answers carol."""
    dora = make_user("dora")
    follow_user(bob, dora)
    deliver()
    return dora


def named(status):
    return status["in_reply_to_id"], status["in_reply_to_account_id"]


def told(viewer, answer, api_of, page_of):
    """What each way of reading says that an answer answers; all are equal."""
    api, page = api_of(viewer), page_of(viewer)
    for _twice in range(2):  # cold, then warm
        found = {named(api.get(f"/api/v1/statuses/{answer.pk}").json())}
        lists = ["timelines/home", f"accounts/{answer.author_id}/statuses", "timelines/public"]
        for address in lists:
            statuses = {one["id"]: one for one in api.get(f"/api/v1/{address}").json()}
            if str(answer.pk) in statuses:
                found.add(named(statuses[str(answer.pk)]))
        for news in events_of_post(answer.pk, "update", {Stream("user"): [viewer.pk]}):
            found.add(named(json.loads(news.payload)))
        exact = hydrate_for(ViewerContext(viewer.pk), [answer.pk]).items[0]  # no cache is believed
        found.add((exact.reply_to_id and str(exact.reply_to_id),
                   exact.reply_to_author_id and str(exact.reply_to_author_id)))  # fmt: skip
        assert len(found) == 1
    [(parent, _account)] = found
    for address in ("/", f"/@{answer.author.handle}/with_replies"):
        card = page.get(address).text.partition(f'id="p{answer.pk}"')[2].split("</article>")[0]
        assert ("Reply to" in card) == (parent is not None)
    return found.pop()


def full(post):
    return str(post.pk), str(post.author_id)


@pytest.mark.slow
def test_it_follows_what_the_viewer_may_see_now(bob, carol, dora, api_of, page_of):
    said = publish(carol, "A question.")
    answer = publish(dora, "An answer.", reply_to_id=said.pk)
    deliver()

    def now():
        return told(bob, answer, api_of, page_of)

    assert now() == full(said)
    block_user(carol, bob)
    assert now() == (None, None)
    unblock_user(carol, bob)
    assert now() == full(said)
    block_user(bob, carol)
    assert now() == (None, None)
    unblock_user(bob, carol)
    suspend(carol)
    assert now() == (None, None)
    restore_user(carol, by=moderator(), reason="A test.")
    assert now() == full(said)
    delete_post(said.pk, by=carol)
    assert now() == (None, None)


@pytest.mark.slow
def test_of_a_restricted_post_only_those_learn_who_may_see_it(bob, carol, dora, api_of, page_of):
    follow_user(dora, carol)
    said = publish(carol, "For followers.", visibility="followers")
    answer = publish(dora, "@bob look", reply_to_id=said.pk, visibility="mentioned")
    deliver()
    assert told(bob, answer, api_of, page_of) == (None, None)
    assert told(dora, answer, api_of, page_of) == full(said)
    follow_user(bob, carol)
    assert told(bob, answer, api_of, page_of) == full(said)
    unfollow_user(bob, carol)
    assert told(bob, answer, api_of, page_of) == (None, None)


@pytest.mark.slow
def test_what_is_shared_and_quoted_does_not_tell_either(alice, bob, carol, dora, api_of):
    said = publish(carol, "A question.")
    answer = publish(dora, "An answer.", reply_to_id=said.pk)
    shared, quote = repost(alice, answer.pk), publish(alice, "Look.", quote_of_id=answer.pk)
    other = repost(carol, quote.pk)
    deliver()

    def now():
        api = api_of(bob)
        found = []
        for _twice in range(2):
            one, two = (api.get(f"/api/v1/statuses/{post.pk}").json() for post in (shared, quote))
            found.append((named(one["reblog"]), named(two["quote"]["quoted_status"])))
        assert found[0] == found[1]
        deep = api.get(f"/api/v1/statuses/{other.pk}").json()["reblog"]["quote"]["quoted_status"]
        assert named(deep) == (None, None)  # a trip more would be needed to tell
        return found[0]

    assert now() == (full(said), full(said))
    for viewer in (bob, None):
        ids = [shared.pk, quote.pk, other.pk, answer.pk]
        exact = hydrate_for(ViewerContext(viewer and viewer.pk), ids).items
        assert hydrate(viewer and viewer.pk, ids).items == exact
    delete_post(said.pk, by=carol)
    assert now() == ((None, None), (None, None))


def test_without_caches_it_is_the_same(bob, carol, dora, api_of):
    said = publish(carol, "A question.")
    answer = publish(dora, "An answer.", reply_to_id=said.pk)
    block_user(bob, carol)
    with dead_memcached():
        assert named(api_of(bob).get(f"/api/v1/statuses/{answer.pk}").json()) == (None, None)
        assert named(api_of(None).get(f"/api/v1/statuses/{answer.pk}").json()) == full(said)


def test_more_restricted_posts_than_postgresql_is_asked_about_at_once(alice, carol, monkeypatch):
    """All restricted, each answered by another post: batches, and no question for each."""
    monkeypatch.setattr(queries, "MAX_IDS", 2)
    ids = []
    for number in range(5):
        said = publish(carol, f"@alice number {number}", visibility="mentioned")
        ids.append(publish(alice, "@carol yes", reply_to_id=said.pk, visibility="mentioned").pk)
    for viewer in (alice, carol):
        assert all(item.reply_to_id for item in hydrate(viewer.pk, ids).items)
