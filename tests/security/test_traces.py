"""A post that somebody may not see changes no byte of any answer to them: not a number, not a date, not an order."""

import logging

import pytest

from apps.feeds.actions import create_feed
from apps.graph.actions import follow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle
from apps.posts.actions.drafts import PollDraft
from apps.posts.actions.publish import delete_post
from tests.security.matrix import Asker, Tally, filled
from tests.security.surfaces import LISTS
from tests.security.world import CATCHES_ALL, World, settle
from tests.support.factories import make_user, publish

pytestmark = [pytest.mark.django_db, pytest.mark.long]

VIEWERS = ("anonymous", "stranger")
RESTRICTED = ("followers", "friends", "mentioned", "circle")
ONE_OF = 4  # addresses is asked in the short form


@pytest.fixture
def world(settings):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    logging.disable(logging.WARNING)
    world = World("open")
    for name in ("author", "friend", "stranger", "reader"):
        world.people[name] = make_user(f"v{name}")
    author, friend, reader = (world.people[name] for name in ("author", "friend", "reader"))
    follow_user(reader, author)
    follow_user(world.people["stranger"], friend)
    world.circle = create_group(Circle, author, name="Close")
    add_members(Circle, author, world.circle.pk, [reader.pk])
    world.root = publish(friend, "What everybody may read.").pk
    publish(author, "And this.")
    create_feed(friend, name="Open", is_public=True, **CATCHES_ALL)
    world.feeds["stranger"] = create_feed(world.people["stranger"], name="Mine", **CATCHES_ALL).pk
    settle()
    yield world
    logging.disable(logging.NOTSET)


def write_everything(world):
    """Every restricted kind of post, around a public one."""
    author, made = world.people["author"], []
    for visibility in RESTRICTED:
        into = {"circle_id": world.circle.pk} if visibility == "circle" else {}
        kinds = (
            {},
            {"reply_to_id": world.root},
            {"quote_of_id": world.root},
            {"poll": PollDraft(["Yes", "No"], 3600)},
        )
        for number, draft in enumerate(kinds):
            body = f"Said to some @vreader @vfriend #secret{visibility}{number} #river"
            post = publish(author, body, visibility=visibility, **into, **draft)
            made.append(post.pk)
    settle()
    return made


def everything(world, viewer, surfaces):
    asker = Asker(world, viewer, Tally())
    author, friend = world.people["author"].pk, world.people["friend"].pk
    places = {
        "author_id": author, "friend_id": friend, "root": world.root, "list": 1, "filter": 1, "circle": 1,
        "feed": world.feeds.get(viewer, 1), "own_feed": f"@v{viewer}/feeds/mine",
        "today": "2026-01-01", "now": "2026-01-01T00:00:00Z",
        "many": f"id[]={world.root}", "more": f"id[]={world.root}",
    }  # fmt: skip
    return {
        filled(surface.path, places): asker.ask(surface, **places).constant for surface in surfaces
    }


@pytest.mark.gate
def test_what_may_not_be_seen_changes_nothing(world, request):
    surfaces = LISTS if request.config.getoption("--matrix") else LISTS[::ONE_OF] + counted()
    for viewer in VIEWERS:  # whoever opens a post has read it from then on
        everything(world, viewer, counted())
    settle()
    before = {viewer: everything(world, viewer, surfaces) for viewer in VIEWERS}
    made = write_everything(world)
    for viewer in VIEWERS:
        assert different(before[viewer], everything(world, viewer, surfaces)) == []
    for post_id in made:
        delete_post(post_id, by=world.people["author"])
    settle()
    for viewer in VIEWERS:
        assert different(before[viewer], everything(world, viewer, surfaces)) == []


@pytest.mark.gate
def test_what_is_deleted_leaves_nothing(world):
    """Of a public post with a tag too."""
    for viewer in VIEWERS:  # whoever opens a post has read it from then on
        everything(world, viewer, counted())
    settle()
    before = {viewer: everything(world, viewer, counted()) for viewer in VIEWERS}
    author = world.people["author"]
    made = [
        publish(author, "Look #gone", quote_of_id=world.root).pk,
        publish(author, "Yes #gone", reply_to_id=world.root).pk,
    ]
    settle()
    for post_id in made:
        delete_post(post_id, by=author)
    settle()
    for viewer in VIEWERS:
        assert different(before[viewer], everything(world, viewer, counted()), dates=False) == []


def counted():
    """Where numbers, dates and tags stand, and what rules catch."""
    paths = ("accounts/{author_id}", "statuses/{root}", "accounts/lookup?acct=vauthor", "trends/tags",
             "statuses/{root}/quotes", "statuses/{root}/context")  # fmt: skip
    wanted = {f"/api/v1/{path}" for path in paths} | {
        "/@vauthor",
        "/@vfriend/{root}",
        "/explore/tags",
        "/search",
        "/{own_feed}",
        "/@vfriend/feeds/open",
        "/@vfriend/feeds/open.rss",
    }
    return tuple(surface for surface in LISTS if surface.path in wanted)


def different(before, after, *, dates=True):
    """The addresses at which something else is said, and what."""
    found = []
    for path, text in before.items():
        now = after[path]
        if text != now and (dates or "last_status_at" not in text):
            at = next((n for n, (a, b) in enumerate(zip(text, now, strict=False)) if a != b), 0)
            found.append(
                f"{path}: {text[max(0, at - 60) : at + 30]!r} -> {now[max(0, at - 60) : at + 30]!r}"
            )
    return found
