"""Nobody but the reader learns of a promotion: pages, endpoints, streams and archives, with and without it."""

import logging
import re
from dataclasses import replace
from difflib import unified_diff
from io import BytesIO
from zipfile import ZipFile

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.actions import issue_token
from apps.accounts.models import UserCounts
from apps.accounts.queries import user_by_id
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import follow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Followee, Follower, UserList
from apps.graph.queries import exact_relations, relationships
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.posts.models import Mention, Post
from apps.posts.queries import SIZES
from apps.privacy.archive import private_storage, write_archive
from apps.promotions.actions import state_trait
from apps.promotions.models import Campaign
from apps.streaming.queries import USER, events_of_delete, events_of_post
from apps.tags.actions import follow_tag
from apps.timeline.home import home_timeline
from tests.promotions.conftest import make_campaign, start
from tests.security.matrix import Asker, Tally
from tests.security.surfaces import LISTS, OF_POSTS
from tests.security.world import World, settle
from tests.support.factories import deliver, make_user, moderator, publish
from tests.support.pages import LABEL

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("side_by_side")]

SHOP, ALICE = "author", "friend"  # as the surfaces call the two whose pages they ask for
VIEWERS = (SHOP, ALICE, "stranger", "anonymous")


def of_alice(surface):
    """The same surface of alice instead of the shop."""
    path = surface.path.replace("vauthor", "vfriend").replace("{author_id}", "{friend_id}")
    return replace(surface, path=path)


SURFACES = tuple(dict.fromkeys((*LISTS, *map(of_alice, LISTS), *OF_POSTS)))
# What promotions do change, for alice alone: her home, its new order, and why something is on it. Not her home in
# programs, which have not asked for promoted posts.
HERS = {
    "/", "/home", "/home/new?after=1", "/ranked", "/explain", "/explain/{id}", "/api/x/explain/home?limit=40",
    "/api/x/explain/statuses/{id}", "/home/check?page=1", "/api/x/audit/mine",
}  # fmt: skip
CHANGING = re.compile(
    r"<time[^>]*>[^<]*</time>"  # ages
    r'|(?<=class="fine">)(?:made|since) [^<]*'  # of tokens, sessions and memberships
    r'|"since":"[^"]*"'  # seven days ago, where no marker says more
    r"|\b\d{1,19}-\d{13}\b"  # how far somebody has read, and when
    r'|session=\d+|name="session" value="\d+"'  # each ranked page makes an order of its own
    r'|in \d+ ms\.|<svg class="bar".*?</svg>|<ul class="times coloured">.*?</ul>'  # how long a page took
    r'|"(?:score|recency|value)":[\d.]+|\b[01]\.\d\d\d?\b',  # of posts that are older now
    re.DOTALL,
)


class ShopWorld(World):
    post: Post  # of the shop
    campaign: Campaign


@pytest.fixture
def world(freshers, settings):
    """Alice is in the segment; the shop pays; the stranger follows neither."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    logging.disable(logging.WARNING)
    SIZES.clear()  # of the test before
    moderator()  # is counted among the people
    world = ShopWorld("open")
    for name in VIEWERS[:3]:
        person = world.people[name] = make_user(f"v{name}")
        world.tokens[name] = issue_token(person, name="program")
        world.lists[name] = create_group(UserList, person, name="Mine").pk
        words = [KeywordChange(keyword="nothing of this")]
        change = FilterChange("Mine", ["home"], keywords=words)
        world.filters[name] = create_filter(person, change).pk
    shop, alice = world.people[SHOP], world.people[ALICE]
    friend = make_user("friend")
    follow_user(alice, friend)
    add_members(UserList, alice, world.lists[ALICE], [friend.pk])
    publish(friend, "By the #river.")
    world.root = publish(alice, "I am here, by the #river.").pk
    world.post = publish(shop, "New books are here, by the #river.")
    state_trait(alice, "first-year-student")
    world.campaign = make_campaign(shop, freshers)
    settle()
    yield world
    logging.disable(logging.NOTSET)


def everything(world, viewers=VIEWERS):
    """What everybody is answered everywhere: (who, address) -> text."""
    found = {}
    for viewer in viewers:
        asker = Asker(world, viewer, Tally())
        places = {
            "author_id": world.people[SHOP].pk, "friend_id": world.people[ALICE].pk, "root": world.root,
            "list": world.lists.get(viewer, 1), "filter": world.filters.get(viewer, 1), "circle": 1,
            "today": timezone.now().date().isoformat(), "many": f"id[]={world.root}",
            "now": f"{timezone.now():%Y-%m-%d}T00:00:00Z", "more": f"id[]={world.post.pk}",
            "id": world.post.pk, "handle": "vauthor",
        }  # fmt: skip
        for surface in SURFACES:
            if not (viewer == ALICE and surface.path in HERS):
                found[viewer, surface.path] = CHANGING.sub(
                    "*", asker.ask(surface, **places).constant
                )
    return found


def differences(before, after):
    """The addresses whose answers differ, with the lines that do."""
    for where, text in before.items():
        if after[where] != text:
            old, new = (one.replace(",", ",\n").splitlines() for one in (text, after[where]))
            yield "\n".join([f"{where}:", *list(unified_diff(old, new, n=0, lineterm=""))[3:23]])


@pytest.mark.long
def test_no_page_or_endpoint_differs_but_the_readers_home(world):
    everything(world)  # who opens a post has read it from then on
    settle()
    before = everything(world)
    start(world.campaign)
    settle()
    after = everything(world)
    front = "anonymous", "/"  # says to everybody whether anybody pays, not who
    assert "no ads" in before.pop(front)
    assert "no ads" not in after.pop(front)
    assert "\n".join(differences(before, after)) == ""
    assert sum(text.startswith("(200,") for text in after.values()) > 400
    browser = Client()
    browser.force_login(world.people[ALICE])
    assert LABEL in browser.get("/").content.decode()
    follow_user(world.people[ALICE], world.people[SHOP])  # this everybody notices
    settle()
    assert any(differences(everything(world, ["stranger"]), after))


@pytest.mark.slow
def test_no_row_count_or_relation_knows_of_it(world):
    alice, shop = world.people[ALICE], world.people[SHOP]
    fields = ("followers", "following", "posts", "followers_revision")
    ids = (alice.pk, shop.pk)
    before = list(UserCounts.objects.filter(pk__in=ids).order_by("pk").values(*fields))
    start(world.campaign)
    counts = UserCounts.objects.filter(pk__in=ids).order_by("pk")
    assert list(counts.values(*fields)) == before
    assert not Followee.objects.filter(owner=alice, followee=shop).exists()
    assert not Follower.objects.filter(owner=shop, follower=alice).exists()
    assert exact_relations(alice.pk, [shop.pk]).following == set()
    assert exact_relations(shop.pk, [alice.pk]).followed_by == set()
    assert not relationships(alice.pk, [shop.pk])[0].following
    assert not relationships(shop.pk, [alice.pk])[0].followed_by


@pytest.mark.slow
def test_no_stream_brings_it(world):
    start(world.campaign)
    shop, alice = world.people[SHOP], world.people[ALICE]
    post = publish(shop)
    listeners = {USER: [person.pk for person in world.people.values()]}
    events = events_of_post(post.pk, "update", listeners)
    assert {event.listener_id for event in events} == {shop.pk}
    delete_post(post.pk, by=shop)
    assert {event.listener_id for event in events_of_delete(post.pk, listeners)} == {shop.pk}
    tagged = publish(shop, "More #books")
    follow_tag(alice, "books")
    texts = [
        event.payload
        for event in events_of_post(tagged.pk, "update", listeners)
        if event.listener_id == alice.pk
    ]
    assert [text.count('"promotion":null') for text in texts] == [1]  # by the tag alone


@pytest.mark.slow
def test_it_opens_nothing_restricted(world, api_of):
    start(world.campaign)
    shop, alice = world.people[SHOP], world.people[ALICE]
    secret = publish(shop, "For followers.", visibility="followers")
    named = publish(shop, f"Only @{alice.handle}", visibility="mentioned")
    deliver()
    assert Mention.objects.filter(post=named, user=alice).exists()
    page = home_timeline(user_by_id(alice.pk), Cursor(limit=40))
    assert not {secret.pk, named.pk} & {item.id for item in page.items}
    assert api_of(alice).get(f"/api/v1/statuses/{secret.pk}").status_code == 404


@pytest.mark.slow
def test_archives_tell_people_their_own_and_nothing_of_others(world):
    start(world.campaign)
    alices, shops = (archive_of(world.people[name]) for name in (ALICE, SHOP))
    assert "first-year student" in alices["traits.csv"]
    assert "first-year students" in alices["segments.csv"]
    assert "vauthor@" not in alices["following_accounts.csv"]
    assert "vfriend" not in "".join(shops.values())
    assert shops["traits.csv"] == shops["segments.csv"] == shops["no_promoted_posts.csv"] == ""


def archive_of(user):
    write_archive(user_by_id(user.pk), f"exports/{user.handle}.zip", lambda _done: None)
    with private_storage().open(f"exports/{user.handle}.zip") as file:
        archive = ZipFile(BytesIO(file.read()))
    return {name: archive.read(name).decode() for name in archive.namelist() if "." in name}


@pytest.fixture(autouse=True)
def _files(settings, tmp_path):
    private = {**settings.STORAGES["private"], "OPTIONS": {"location": str(tmp_path / "private")}}
    settings.STORAGES = {**settings.STORAGES, "private": private}
