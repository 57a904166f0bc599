"""What muted people said is folded wherever it is quoted; what blocked people said is nowhere. Undone, all is back."""

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.actions import issue_token
from apps.accounts.queries import user_by_id
from apps.audit.explain import Mark, checklist, explain
from apps.engagement.actions import bookmark_post, like_post
from apps.feeds.actions import create_feed
from apps.graph.actions import (
    block_user,
    end_due_mutes,
    follow_user,
    mute_user,
    unblock_user,
    unmute_user,
)
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Mute, UserList
from apps.posts.actions.edit import edit_post, pin_post
from apps.posts.queries import ViewerContext
from apps.streaming.known import Known
from apps.streaming.queries import (
    events_of_conversation,
    events_of_notifications,
    events_of_post,
)
from apps.streaming.streams import Stream
from apps.timeline.pipeline.hydrate import hydrate, hydrate_for
from feedcache.ids import to_base36
from tests.security.matrix import Asker, Tally
from tests.security.surfaces import LISTS, OF_POSTS
from tests.security.world import CATCHES_ALL, settle
from tests.support.factories import make_user, publish, repost
from tests.support.faults import dead_memcached

pytestmark = pytest.mark.django_db

SECRET = "quokka"
LINE = "A quoted post by somebody you muted"
AGES = re.compile(r"(<time[^>]*>|Edited )[^<]*")
FOLDED = re.compile(r'<details class="cw">.*?</details>', re.DOTALL)
SURFACES = [one for one in (*LISTS, *OF_POSTS) if one.method == "GET" and not one.anybody]
# Of the addresses that show the quote, some that every reader uses.
USED = {
    "GET /", "GET /public", "GET /lists/{list}", "GET /tags/river", "GET /@vauthor", "GET /bookmarks", "GET /likes",
    "GET /@{handle}/{id}", "GET /@{handle}/{id}/history", "GET /search?q=said&type=statuses", "GET /explore",
    "GET /home/as-of?as_of={now}", "GET /@vfriend/{root}",
    "GET /api/v1/timelines/home", "GET /api/v1/timelines/public", "GET /api/v1/timelines/list/{list}",
    "GET /api/v1/timelines/tag/river", "GET /api/v1/accounts/{author_id}/statuses",
    "GET /api/v1/accounts/{author_id}/statuses?pinned=1", "GET /api/v1/statuses/{root}/context",
    "GET /api/v1/statuses/{id}", "GET /api/v1/notifications?limit=80", "GET /api/v2/notifications?limit=80",
    "GET /api/v1/conversations", "GET /api/v1/bookmarks?limit=40", "GET /api/v1/favourites?limit=40",
    "GET /api/v2/search?q=said&limit=40", "GET /api/v1/trends/statuses", "GET /api/x/activity",
    "GET /api/x/feeds/{feed}/timeline?limit=40",
}  # fmt: skip


@pytest.fixture
def world(carol):
    """Two whom the reader follows quote carol in every way; the reader has marked all of it."""
    reader, author, friend = (make_user(name) for name in ("vreader", "vauthor", "vfriend"))
    for one in (author, friend):
        follow_user(reader, one)
    source = publish(carol, f"{SECRET} words")
    root = publish(friend, "Root, said #river", quote_of_id=source.pk)
    quote = publish(author, "Look @vreader, said #river", quote_of_id=source.pk)
    posts = [
        root,
        quote,
        publish(author, "In answer @vreader, said", reply_to_id=root.pk, quote_of_id=source.pk),
        publish(author, "About the root, said", quote_of_id=root.pk, reply_to_id=root.pk),
        publish(author, "@vreader @carol said", quote_of_id=source.pk, visibility="mentioned"),
        repost(friend, quote.pk),
    ]
    settle()
    edit_post(author, quote.pk, body="Look again @vreader, said #river")
    pin_post(author, quote.pk)
    own = create_group(UserList, reader, name="Mine")
    add_members(UserList, reader, own.pk, [author.pk, friend.pk])
    feed = create_feed(reader, name="Mine", **CATCHES_ALL)
    for post in posts[:5]:
        like_post(reader, post.pk)
        bookmark_post(reader, post.pk)
    settle()
    places = {
        "author_id": author.pk, "friend_id": friend.pk, "root": root.pk, "feed": feed.pk, "list": own.pk,
        "own_feed": "@vreader/feeds/mine", "filter": 1, "circle": 1, "today": timezone.now().date().isoformat(),
        "now": timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ"), "many": f"id[]={root.pk}", "more": f"id[]={quote.pk}",
        "id": quote.pk, "short": to_base36(quote.pk), "handle": "vauthor",
    }  # fmt: skip
    return SimpleNamespace(
        reader=reader, carol=carol, source=source, quote=quote, posts=posts, places=places,
        people={"reader": reader}, tokens={"reader": issue_token(reader, name="test")},
    )  # fmt: skip


def answers(world, names=None):
    """What the reader gets at every address of the site that shows posts, or at some of them."""
    tally = Tally()
    asker = Asker(world, "reader", tally)
    asked = [one for one in SURFACES if names is None or one.name in names]
    found = {one.name: asker.ask(one, **world.places) for one in asked}
    assert tally.failures == []
    return found


def still(answer):
    """An answer without what changes by itself."""
    return AGES.sub(r"\1*", answer.constant)


def states(body: Any, source_id: int) -> list[str]:
    """The states of all quotes of a post in a JSON document, which are taken out of it."""
    if isinstance(body, list):
        return [state for part in body for state in states(part, source_id)]
    if not isinstance(body, dict):
        return []
    found = []
    quote: Any = body.get("quote")
    quoted = quote.get("quoted_status") if isinstance(quote, dict) else None
    if quoted and quoted["id"] == str(source_id):
        found, body["quote"] = [quote["state"]], None
    return found + [state for part in body.values() for state in states(part, source_id)]


def outside(world, text):
    """A page or a document without what is folded in it, and the states of its quotes."""
    if text[:1] in {"{", "["}:
        body = json.loads(text)
        found = states(body, world.source.pk)
        return json.dumps(body), found
    return FOLDED.sub("", text), []


MUTES = {
    "mute": lambda world: mute_user(world.reader, world.carol),
    "timed mute": lambda world: mute_user(world.reader, world.carol, seconds=3600),
}
BLOCKS = {
    "block": lambda world: block_user(world.reader, world.carol),
    "blocked": lambda world: block_user(world.carol, world.reader),
}


def undo(way, world):
    if way == "mute":
        unmute_user(world.reader, world.carol)
    elif way == "timed mute":
        Mute.objects.update(expires_at=timezone.now())
        assert end_due_mutes(limit=10) == 1
    elif way == "block":
        unblock_user(world.reader, world.carol)
    else:
        unblock_user(world.carol, world.reader)


def leaks_and_folded(way, world):
    """The addresses that show what they should not, and those that fold it."""
    leaks, folded = [], set()
    for name, answer in answers(world).items():
        text, found = outside(world, answer.body)
        if SECRET in text or "accepted" in found or (way in BLOCKS and SECRET in answer.body):
            leaks.append(name)
        elif "muted_account" in found or (not found and LINE in answer.body):
            folded.add(name)
    return leaks, folded


@pytest.mark.slow
def test_below_the_post_of_somebody_muted_its_quotes_are_folded(world, page_of):
    address = f"/@carol/{world.source.pk}/quotes"
    mute_user(world.reader, world.carol)
    text = page_of(user_by_id(world.reader.pk)).get(address, headers={"HX-Request": "true"}).text
    assert LINE in text
    assert SECRET not in outside(world, text)[0]


def heard(world):
    """The payloads of all streams of the reader."""
    reader, streams = world.reader.pk, (Stream("user"), Stream("public"))
    for post in world.posts:
        for event in events_of_post(post.pk, "update", {one: [reader] for one in streams}):
            yield event.payload
    for event in events_of_notifications(reader, Known(0))[1]:
        yield event.payload
    for event in events_of_conversation(reader, world.posts[4].pk):
        yield event.payload


@pytest.mark.long
@pytest.mark.gate
def test_streams_tell_what_pages_show(world):
    found = [states(json.loads(payload), world.source.pk) for payload in heard(world)]
    assert {state for several in found for state in several} == {"accepted"}
    number = sum(map(bool, found))
    mute_user(world.reader, world.carol)
    found = [states(json.loads(payload), world.source.pk) for payload in heard(world)]
    assert {state for several in found for state in several} == {"muted_account"}
    assert sum(map(bool, found)) == number > 8
    unmute_user(world.reader, world.carol)
    block_user(world.carol, world.reader)
    payloads = list(heard(world))
    assert payloads
    assert not any(SECRET in payload for payload in payloads)


@pytest.mark.long
@pytest.mark.gate
def test_with_and_without_caches_it_is_the_same(world, api_of):
    mute_user(world.reader, world.carol)
    ids = [post.pk for post in world.posts]
    exact = hydrate_for(ViewerContext(world.reader.pk), ids).items  # no cache is asked
    assert hydrate(world.reader.pk, ids).items == exact
    address = f"/api/v1/statuses/{world.quote.pk}"
    for viewer, state in (
        (world.reader, "muted_account"),
        (world.carol, "accepted"),
        (None, "accepted"),
    ):
        with dead_memcached():
            cold = api_of(viewer).get(address).json()["quote"]
        assert api_of(viewer).get(address).json()["quote"]["state"] == cold["state"] == state
        assert SECRET in cold["quoted_status"]["content"]


@pytest.mark.slow
def test_a_card_of_a_muter_is_no_card_of_anybody_else(world, page_of):
    address = f"/@vauthor/{world.quote.pk}"
    assert LINE not in page_of(None).get(address).text
    mute_user(world.reader, world.carol)
    assert LINE in page_of(world.reader).get(address).text
    assert LINE not in page_of(None).get(address).text
    assert LINE not in page_of(world.carol).get(address).text


@pytest.mark.slow
def test_explain_says_that_it_is_folded_and_by_whom(world):
    sentence = "It quotes @carol, whom you mute: the quoted post is collapsed."
    reader = user_by_id(world.reader.pk)
    assert sentence not in explain(reader, world.quote.pk).text
    mute_user(world.reader, world.carol)
    found = explain(user_by_id(world.reader.pk), world.quote.pk)
    assert found.on_home
    assert found.text.endswith(sentence)
    checks = checklist(user_by_id(world.reader.pk), world.quote.pk).checks
    assert Mark.FAILED not in {check.mark for check in checks}
    assert ("Have you muted its author?", "No.") in {
        (check.question, check.answer) for check in checks
    }
