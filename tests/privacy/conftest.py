"""A life to take along or to erase: something of every kind, with words that can be found wherever they are."""

from datetime import timedelta
from io import BytesIO

import pytest
from django.utils import timezone

from apps.accounts.actions import issue_token, update_profile
from apps.engagement.actions import add_mark, bookmark_post, like_post, vote
from apps.engagement.marks import REACTION
from apps.feeds.actions import create_feed
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import block_user, follow_user, mute_user, note_about, unfollow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle, UserList
from apps.moderation.actions import file_report
from apps.notifications.actions import accept_notifications_from, change_policy
from apps.pagination import Cursor
from apps.posts.actions.drafts import Draft, PollDraft
from apps.posts.actions.edit import edit_post
from apps.posts.actions.mute_thread import mute_thread
from apps.posts.actions.schedule import schedule_post
from apps.posts.actions.uploads import upload_picture
from apps.posts.saved_drafts import save_draft
from apps.search.models import StarterPack
from apps.strikes.actions import add_note, appeal, warn
from apps.strikes.models import Strike
from apps.tags.actions import feature_tag, follow_tag, unfollow_tag
from apps.timeline.home import home_timeline
from tests.support.factories import deliver, make_user, moderator, publish, repost
from tests.support.pictures import picture

CANARY = "zebrafinch"  # in everything that Alice writes


@pytest.fixture(autouse=True)
def _files(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path / "media")
    private = {**settings.STORAGES["private"], "OPTIONS": {"location": str(tmp_path / "private")}}  # fmt: skip
    settings.STORAGES = {**settings.STORAGES, "private": private}


@pytest.fixture
def life(page_of, settings):
    """Alice, who did a little of everything; Bob and Carol, whose words are theirs."""
    alice = make_user(f"{CANARY}_a", display_name=f"Alice {CANARY}", email=f"{CANARY}@example.org")
    bob, carol, dora = (make_user(name) for name in ("bob", "carol", "dora"))
    update_profile(alice, bio=f"I am {CANARY}.", lines=[("Web", f"https://{CANARY}.example.org")])
    for one, other in ((alice, bob), (bob, alice), (carol, alice), (alice, carol)):
        follow_user(one, other)
    circle = create_group(Circle, alice, name=f"Circle {CANARY}", is_shared=True)
    add_members(Circle, alice, circle.pk, [bob.pk])
    theirs = publish(bob, "Bob's own words")
    poll = publish(bob, "Which?", poll=PollDraft(["Tea", "Coffee"], 3600))
    shown = upload_picture(alice, BytesIO(picture()), alt=f"A {CANARY}.")
    first = publish(alice, f"first {CANARY} #birds @bob", media_ids=[shown.pk])
    edit_post(alice, first.pk, body=f"first {CANARY}, better")
    publish(alice, f"for some {CANARY}", visibility="circle", circle_id=circle.pk)
    publish(alice, f"an answer {CANARY}", reply_to_id=theirs.pk, content_warning=CANARY)
    publish(alice, f"Which {CANARY}?", poll=PollDraft([f"{CANARY} one", "two"], 3600))
    publish(bob, "an answer of Bob's", reply_to_id=first.pk)
    repost(alice, theirs.pk)
    repost(bob, first.pk)
    upload_picture(alice, BytesIO(picture()), alt=f"waiting {CANARY}")
    schedule_post(alice, Draft(f"later {CANARY}"), timezone.now() + timedelta(hours=1))
    save_draft(alice, {"body": f"begun {CANARY}"}, [])
    like_post(alice, theirs.pk)
    like_post(bob, first.pk)
    bookmark_post(alice, theirs.pk)
    add_mark(REACTION, alice, theirs.pk, "hearts")
    vote(alice, poll.pk, [1])
    mute_user(alice, dora)
    for one, other in ((alice, dora), (dora, alice)):
        follow_user(one, other)
        unfollow_user(one, other)
    follow_tag(alice, "once")
    unfollow_tag(alice, "once")
    note_about(alice, bob, f"={CANARY}")
    change_policy(alice, for_private_mentions="filter")
    accept_notifications_from(alice, [carol.pk])
    note_about(carol, alice, "a note of Carol's")
    block_user(dora, alice)
    people = create_group(UserList, alice, name=f"List {CANARY}")
    add_members(UserList, alice, people.pk, [bob.pk])
    add_members(UserList, bob, create_group(UserList, bob, name="Bob's").pk, [alice.pk])
    create_filter(
        alice, FilterChange(f"Filter {CANARY}", ["home"], keywords=[KeywordChange(keyword=CANARY)])
    )
    create_feed(alice, name=f"Feed {CANARY}", include_people=["bob"], include_words=[CANARY])
    create_feed(carol, name="Carol's", include_people=[alice.handle, "bob"])
    follow_tag(alice, "birds")
    feature_tag(alice, "river")
    StarterPack.objects.create(title="A good start", language="en").members.set([alice, bob])
    mute_thread(alice, theirs.pk)
    file_report(alice, carol, category="spam", comment=f"report {CANARY}")
    file_report(carol, alice, post_ids=[first.pk])
    warn(alice, by=moderator(), reason="A word to her.")
    add_note(alice, by=moderator(), text=f"a note about {CANARY}")
    appeal(Strike.objects.get(), text=f"appeal {CANARY}")
    issue_token(alice, name=f"token {CANARY}")
    browser = page_of(None)
    browser.post("/login", {"username": alice.handle, "password": "a long enough passphrase"})
    deliver()
    for one in (alice, bob, carol):
        home_timeline(one, Cursor())
    return alice, bob, carol, dora
