"""Home without replies to people whom its reader does not follow: the same on every path that makes or explains it."""

import json

import pytest
from django.utils import timezone

from apps.accounts.actions import update_settings
from apps.accounts.queries import user_by_id
from apps.audit.comparison.pages import Sample, differences
from apps.audit.explain import Check, Mark, assembly, checklist, explain
from apps.audit.oracle import Oracle
from apps.filters.models import FilterContext
from apps.graph.actions import block_user, follow_user, unfollow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.posts.queries import ViewerContext
from apps.ranking.ordering import ranked_page
from apps.streaming.queries import events_of_post
from apps.streaming.streams import Stream
from apps.tags.actions import follow_tag
from apps.timeline.history.as_of import home_as_of
from apps.timeline.history.unread import (
    ReadPosition,
    get_activity,
    may_have_unread,
    newer_candidate_count,
)
from apps.timeline.home import home_timeline
from apps.timeline.pipeline.facts import facts_now, facts_of_home
from apps.timeline.pipeline.hydrate import hydrate_for
from apps.timeline.pipeline.reasons import Reason
from apps.timeline.pipeline.rulebook import HOME_RULES, passed
from tests.support.factories import deliver, delivered, make_user, publish, repost
from tests.support.faults import dead_redis
from tests.support.pages import EMPTY

pytestmark = pytest.mark.django_db
USER = Stream("user")


@pytest.fixture
def dora(bob):
    """Whom bob follows, besides alice. He does not follow carol."""
    dora = make_user("dora")
    follow_user(bob, dora)
    deliver()
    return dora


@pytest.fixture
def posts(alice, bob, carol, dora):
    """Posts that stay, and posts that go when bob hides replies to strangers."""
    strange, known, own = publish(carol, "Carol's #rivers."), publish(alice, "A."), publish(bob)
    gone, away = publish(carol, "Gone soon."), publish(alice, "Gone soon too.")
    circle = create_group(Circle, dora, name="Close")
    add_members(Circle, dora, circle.pk, [bob.pk])
    follow_tag(bob, "rivers")
    plain = publish(dora, "Plain.")
    stay = [
        strange,  # by its tag
        known,
        own,
        plain,
        publish(dora, "To alice.", reply_to_id=known.pk),
        publish(dora, "To bob.", reply_to_id=own.pk),
        publish(dora, "To myself.", reply_to_id=plain.pk),
        publish(dora, "To alice, who takes it back.", reply_to_id=away.pk),
        publish(bob, "Bob's own, to carol.", reply_to_id=strange.pk),
    ]
    hidden = [
        publish(dora, "To carol.", reply_to_id=strange.pk),
        publish(dora, "To carol, who takes it back.", reply_to_id=gone.pk),
        publish(dora, "@bob to carol.", reply_to_id=strange.pk, visibility="followers"),
        publish(dora, "Look.", reply_to_id=strange.pk, quote_of_id=known.pk),
        publish(alice, "A tag #rivers", reply_to_id=strange.pk),
        publish(make_user("eve"), "By a tag #rivers", reply_to_id=strange.pk),
    ]
    stay.append(repost(alice, hidden[0].pk))
    delete_post(gone.pk, by=carol)
    delete_post(away.pk, by=alice)
    deliver()
    return {post.pk for post in stay}, {post.pk for post in hidden}


def hide(user, *, on=True):
    update_settings(user_by_id(user.pk), hides_replies=on)
    return user_by_id(user.pk)


def ids(items):
    return {item.id for item in items}


def shown(reader, api_of, page_of):
    """What bob's home shows, on every path; all are equal."""
    cursor = Cursor(limit=40)
    page = home_timeline(reader, cursor)
    found = ids(page.items)
    candidates = Oracle().posts
    assert found == set(Oracle().home(reader.pk))
    assert (
        differences(Sample.of_page(reader.pk, timezone.now().timestamp() + 5, cursor, page)) == []
    )
    with dead_redis():
        assert ids(home_timeline(reader, cursor).items) == found
    complete_facts, alone = facts_of_home(reader), set()
    for one in candidates:  # each by itself, and no cache is asked
        exact = hydrate_for(ViewerContext(reader.pk), [one])
        facts = facts_now(reader, FilterContext.HOME, exact.relations)
        alone |= ids(passed(exact.items, complete_facts(facts, exact.items), HOME_RULES))
    assert alone == found
    assert ids(home_as_of(reader, timezone.now(), cursor).page.items) == found
    assert ids(get_activity(reader, limit=40).items) == found
    said = api_of(reader).get("/api/v1/timelines/home?limit=40").json()
    assert {int(status["id"]) for status in said} == found
    text = page_of(reader).get("/").text
    assert {
        one for one in candidates if f'<article id="p{one}"' in text or f'id="p{one}"' in text
    } == found
    told = {
        int(json.loads(event.payload)["id"])
        for one in candidates
        for event in events_of_post(one, "update", {USER: [reader.pk]})
    }
    assert told == found
    ranked = ranked_page(reader, limit=40)
    assert ids(ranked.items) <= found
    return found


@pytest.mark.long
def test_it_is_off_until_its_reader_turns_it_on_and_off_again(bob, posts, api_of, page_of):
    stay, hidden = posts
    assert shown(user_by_id(bob.pk), api_of, page_of) == stay | hidden
    assert shown(hide(bob), api_of, page_of) == stay
    assert shown(hide(bob, on=False), api_of, page_of) == stay | hidden


@pytest.mark.long
def test_whom_the_reader_follows_decides_at_once(bob, carol, posts, api_of, page_of):
    stay, hidden = posts
    reader = hide(bob)
    follow_user(reader, carol)
    deliver()
    assert shown(user_by_id(bob.pk), api_of, page_of) >= stay | hidden
    unfollow_user(user_by_id(bob.pk), carol)
    assert shown(user_by_id(bob.pk), api_of, page_of) == stay
    block_user(carol, reader)  # a reply to what bob may not see is still one to a stranger
    assert shown(user_by_id(bob.pk), api_of, page_of).isdisjoint(hidden)


@pytest.mark.slow
def test_explain_says_so_in_a_sentence_both_ways(bob, posts, page_of):
    stay, hidden = posts
    reader = hide(bob)
    sentence = (
        "It replies to somebody you do not follow, and your home page leaves out such replies."
    )
    for post_id in hidden:
        found = explain(reader, post_id)
        if found.on_home:  # by alice's repost
            assert "@alice reposted" in found.text
            continue
        assert (found.reason, found.text) == (Reason.REPLY, sentence)
        assert checklist(reader, post_id).checks[-1] == Check(
            "Is it a reply to somebody you do not follow, and do you hide such replies?",
            "Yes.",
            Mark.FAILED,
        )
        assert sentence in page_of(reader).get(f"/explain/{post_id}").text
    assert all(explain(reader, post_id).on_home for post_id in stay)
    left_out = {
        row.item.id for row in assembly(reader, Cursor(limit=40)).rows if not row.is_on_page
    }
    assert left_out == hidden
    assert "6 replies to people you do not follow" in page_of(reader).get("/explain").text


@pytest.mark.long
def test_pages_are_full_and_a_walk_meets_everything_once(alice, bob, carol, dora, api_of):
    strange, plain = publish(carol), []
    for number in range(25):
        plain.append(publish(dora, f"Plain {number}.").pk)
        for _twice in range(2):
            publish(dora, "To carol.", reply_to_id=strange.pk)
    deliver()
    reader = hide(bob)
    first = home_timeline(reader, Cursor(limit=20))
    assert [item.id for item in first.items] == plain[:4:-1]
    second = home_timeline(reader, Cursor(limit=20, max_id=first.older))
    assert ([item.id for item in second.items], second.older) == (plain[4::-1], None)
    assert len(api_of(reader).get("/api/v1/timelines/home?limit=20").json()) == 20


def test_neither_the_pill_nor_the_count_knows_of_them(bob, carol, dora, page_of):
    strange, first = publish(carol), publish(dora, "First.")
    deliver()
    reader = hide(bob)
    position = get_activity(reader).last_id
    for _three in range(3):
        publish(dora, "To carol.", reply_to_id=strange.pk)
    deliver()
    pill, htmx = f"/home/new?last_id={position}", {"HX-Request": "true"}
    assert newer_candidate_count(user_by_id(bob.pk), first.pk) == 0
    assert get_activity(user_by_id(bob.pk), position).items == []
    assert page_of(reader).get(pill, headers=htmx).status_code == 204
    delivered(dora, "Second.")
    assert newer_candidate_count(user_by_id(bob.pk), first.pk) == 1
    assert may_have_unread(user_by_id(bob.pk), ReadPosition.parse(position))
    assert page_of(reader).get(pill, headers=htmx).status_code == 200
    assert newer_candidate_count(hide(bob, on=False), first.pk) == 4


def test_the_page_of_settings_and_an_empty_home_say_it(bob, carol, dora, page_of):
    browser, fields = page_of(bob), {"density": "comfortable"}
    assert 'name="hides_replies"' in browser.get("/settings/reading").text
    browser.post("/settings/reading", fields | {"hides_replies": "on"})
    assert user_by_id(bob.pk).hides_replies
    delivered(dora, "To carol.", reply_to_id=publish(carol).pk)
    assert EMPTY in browser.get("/").text
    browser.post("/settings/reading", fields)
    assert not user_by_id(bob.pk).hides_replies
    assert EMPTY not in browser.get("/").text
