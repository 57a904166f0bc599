"""Who sees a restricted post where (row S27): every viewer on every surface, against rules written without the code."""

from itertools import product

import pytest

from apps.graph.actions import block_user, follow_user
from apps.graph.groups.actions import (
    add_members,
    create_group,
    delete_group,
    leave_circle,
    remove_members,
)
from apps.graph.models import Circle
from apps.moderation.actions import suspend_user
from apps.notifications.models import Notification
from apps.posts.content.post import VERSION, State, decode_cached_post
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.connections import timelines
from feedcache.memcached_tiers import tiers
from tests.support.factories import deliver, delivered, make_user, publish
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db

VIEWERS = [
    "anonymous", "stranger", "follower", "named", "member", "former member", "blocked member", "owner", "author",
]  # fmt: skip
VISIBILITIES = ["public", "unlisted", "followers", "mentioned", "circle"]
SURFACES = [
    "post page", "status", "home page", "home", "home rebuilt", "home without its inbox", "home paged down",
    "home paged up", "profile page", "profile", "profile paged", "public page", "public", "thread", "thread page",
    "notifications", "bookmarks", "cache",
]  # fmt: skip
SECRET = "the words that are not for everybody"


# --- the rules, in plain words ---------------------------------------------------------------------


def may_see(viewer, visibility, state):
    """Whether a viewer may see the post at all. The author is a member of the owner's shared circle."""
    if state == "suspended":
        return False
    if viewer == "author":
        return True
    if viewer == "blocked member":  # the author blocks them
        return False
    return {
        "public": True,
        "unlisted": True,
        "followers": viewer in {"follower", "named"},
        "mentioned": viewer == "named",
        "circle": viewer in {"member", "owner"},
    }[visibility]


def belongs(surface, viewer, visibility, state):
    """Whether a post that a viewer may see stands on a surface."""
    if not may_see(viewer, visibility, state):
        return False
    if surface.startswith("home"):
        if viewer == "anonymous":
            return False
        return viewer in {"follower", "author"} or visibility == "circle"
    if surface.startswith("public"):
        return visibility == "public"
    if surface == "notifications":
        return viewer == "named"
    if surface == "bookmarks":
        return viewer != "anonymous"
    return True


def answer_to(act, viewer, visibility, state):
    """The status of a repost or a quote."""
    if viewer == "anonymous" or (viewer == "author" and state == "suspended"):
        return 401
    if not may_see(viewer, visibility, state):
        return 404
    if visibility in {"public", "unlisted"}:
        return 200
    return 200 if act == "quote" and viewer == "author" else 403


# --- the world ------------------------------------------------------------------------------------


class World:
    """One post of one visibility, everybody who may want to see it, and all caches warm."""

    def __init__(self, visibility, page_of, api_of):
        people = {name: make_user() for name in VIEWERS if name != "anonymous"}
        self.people, owner, author = people, people["owner"], people["author"]
        for name in ("author", "member", "former member", "blocked member"):
            follow_user(people[name], owner)
        follow_user(people["follower"], author)
        circle = create_group(Circle, owner, name="Ours", is_shared=True)
        inside = ("author", "member", "former member", "blocked member")
        add_members(Circle, owner, circle.pk, [people[name].pk for name in inside])
        self.pages = {name: page_of(people.get(name)) for name in VIEWERS}
        self.programs = {name: api_of(people.get(name)) for name in VIEWERS}
        deliver()
        self.warm()
        self.root = publish(author, "A public beginning.").pk
        into = {"circle_id": circle.pk} if visibility == "circle" else {}
        self.post = publish(
            author,
            f"{SECRET} @{people['named'].handle}",
            visibility=visibility,
            reply_to_id=self.root,
            **into,
        ).pk
        deliver()
        for (
            name
        ) in VIEWERS:  # those who may see it keep it; whatever is cached now must not help later
            self.programs[name].post(f"/api/v1/statuses/{self.post}/bookmark")
        self.warm()
        remove_members(Circle, owner, circle.pk, [people["former member"].pk])
        block_user(author, people["blocked member"])

    def warm(self):
        for name in VIEWERS:
            self.programs[name].get("/api/v1/timelines/home")

    def api(self, viewer, path):
        return self.programs[viewer].get(f"/api/v1/{path}")

    def ids(self, viewer, path):
        answer = self.api(viewer, path)
        rows = answer.json() if answer.status_code == 200 else []
        return [int(row["id"]) for row in rows]

    def walk(self, viewer, path, cursor, end):
        """All ids of a list, a page of one at a time."""
        found, bound = [], None
        for _page in range(9):
            ids = self.ids(viewer, f"{path}?limit=1&{cursor}={bound or end}")
            if not ids:
                break
            found, bound = found + ids, ids[0]
        return found

    def shows(self, surface, viewer):
        """Whether the post, or a word of it, can be seen there."""
        author = self.people["author"]
        reader = self.people.get(viewer, author)
        lists = {
            "home": "timelines/home",
            "home rebuilt": "timelines/home",
            "home without its inbox": "timelines/home",
            "profile": f"accounts/{author.pk}/statuses",
            "public": "timelines/public",
            "bookmarks": "bookmarks",
        }
        walks = {
            "home paged down": ("timelines/home", "max_id", 2**63 - 1),
            "home paged up": ("timelines/home", "min_id", 0),
            "profile paged": (lists["profile"], "max_id", 2**63 - 1),
        }
        pages = {
            "home page": "/home",
            "profile page": f"{author.url}/with_replies",
            "public page": "/public",
            "thread page": f"{author.url}/{self.root}",
            "post page": f"{author.url}/{self.post}",
        }
        bodies = {"thread": f"statuses/{self.root}/context", "notifications": "notifications"}
        before = {
            "home rebuilt": timelines().flushdb,
            "home without its inbox": lambda: timelines().delete(INBOX.key(reader.pk)),
            "cache": lambda: self.api("author", f"statuses/{self.post}"),  # who may see it looks
        }
        before.get(surface, bool)()
        if surface in lists:
            return self.post in self.ids(viewer, lists[surface])
        if surface in walks:
            return self.post in self.walk(viewer, *walks[surface])
        if surface in pages:
            return SECRET in self.pages[viewer].get(pages[surface]).text
        if surface in bodies:
            return SECRET in self.api(viewer, bodies[surface]).text
        assert surface in {"status", "cache"}
        return self.api(viewer, f"statuses/{self.post}").status_code == 200

    def suspend_author(self):
        suspend_user(self.people["author"], by=make_staff(superuser=True), reason="test")


@pytest.mark.long
@pytest.mark.parametrize("visibility", VISIBILITIES)
@pytest.mark.parametrize("state", [pytest.param("normal", marks=pytest.mark.gate), "suspended"])
def test_every_viewer_on_every_surface(visibility, state, page_of, api_of):
    world = World(visibility, page_of, api_of)
    if state == "suspended":
        world.suspend_author()
    cells = list(product(SURFACES, VIEWERS))
    expected = {(s, v): belongs(s, v, visibility, state) for s, v in cells}
    assert {(s, v): world.shows(s, v) for s, v in cells} == expected
    acts = {
        "repost": lambda program: program.post(f"/api/v1/statuses/{world.post}/reblog"),
        "quote": lambda program: program.post(
            "/api/v1/statuses", {"status": "look", "quoted_status_id": str(world.post)}
        ),
    }
    cells = list(product(acts, VIEWERS))
    expected = {(act, v): answer_to(act, v, visibility, state) for act, v in cells}
    found = {(act, v): acts[act](world.programs[v]).status_code for act, v in cells}
    assert found == expected


@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_the_rules_leave_both_kinds_of_answers(visibility):
    """The matrix would prove little if everything were allowed or everything refused."""
    cells = {belongs(s, v, visibility, "normal") for s, v in product(SURFACES, VIEWERS)}
    assert cells == {True, False}


@pytest.mark.gate
@pytest.mark.long
@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_the_raw_cache_never_holds_a_restricted_body(visibility, page_of, api_of):
    if not tiers().ping():
        pytest.skip("no memcached on this machine")
    world = World(visibility, page_of, api_of)
    for viewer in VIEWERS:
        world.shows("status", viewer)
        world.shows("home page", viewer)
    (kept,) = tiers().get_many([f"post:{VERSION}.0:{world.post}"]).values()
    head = decode_cached_post(kept)
    assert bool(head.content) == (visibility in {"public", "unlisted"})
    assert head.state is (State.OPEN if head.content else State.RESTRICTED)
    assert len(kept) < 30 or head.content


# --- belonging ends ---------------------------------------------------------------------------------

ENDS = {
    "taken out": lambda owner, member, circle: remove_members(Circle, owner, circle, [member.pk]),
    "left": lambda owner, member, circle: leave_circle(member, circle),
    "blocked by the owner": lambda owner, member, circle: block_user(owner, member),
    "blocked the owner": lambda owner, member, circle: block_user(member, owner),
    "circle deleted": lambda owner, member, circle: delete_group(Circle, owner, circle),
}


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_belonging_acts_on_the_next_read_with_warm_caches(
    alice, bob, end, api_of, page_of
):
    circle = create_group(Circle, alice, name="Ours")
    add_members(Circle, alice, circle.pk, [bob.pk])
    program, page = api_of(bob), page_of(bob)
    program.get("/api/v1/timelines/home")
    post = delivered(alice, SECRET, visibility="circle", circle_id=circle.pk)
    addresses = [
        "/api/v1/timelines/home", f"/api/v1/statuses/{post.pk}", f"/api/v1/accounts/{alice.pk}/statuses",
        f"/@alice/{post.pk}", "/@alice", "/home",
    ]  # fmt: skip
    assert all(SECRET in page_or(program, page, one).text for one in addresses)
    assert INBOX.ids(bob.pk) == [post.pk]
    ENDS[end](alice, bob, circle.pk)  # no worker has run
    assert not any(SECRET in page_or(program, page, one).text for one in addresses)
    assert INBOX.ids(bob.pk) == [post.pk]  # the cache still names it, and that does not matter
    assert SECRET in page_of(alice).get(f"/@alice/{post.pk}").text
    deliver()
    assert INBOX.ids(bob.pk) == []
    assert HOME.exists(bob.pk)


@pytest.mark.slow
def test_posts_of_a_deleted_circle_are_their_authors_only(alice, bob, carol, api_of):
    """Not even the owner of the circle reads what members wrote there."""
    follow_user(carol, alice)
    circle = create_group(Circle, alice, name="Ours", is_shared=True)
    add_members(Circle, alice, circle.pk, [bob.pk, carol.pk])
    posts = [publish(one, visibility="circle", circle_id=circle.pk).pk for one in (alice, bob)]
    deliver()
    programs = [api_of(one) for one in (alice, bob, carol)]

    def seen(program):
        found = [one for one in posts if program.get(f"/api/v1/statuses/{one}").status_code == 200]
        rows = program.get("/api/v1/timelines/home").json()
        assert sorted(int(row["id"]) for row in rows) == found
        return found

    assert [seen(program) for program in programs] == [posts] * 3
    delete_group(Circle, alice, circle.pk)
    assert [seen(program) for program in programs] == [posts[:1], posts[1:], []]
    deliver()
    timelines().flushdb()
    assert [seen(program) for program in programs] == [posts[:1], posts[1:], []]


def page_or(program, page, address):
    return (program if address.startswith("/api/") else page).get(address)


def test_notifications_of_a_circle_end_with_belonging(alice, bob, api_of):
    circle = create_group(Circle, alice, name="Ours")
    add_members(Circle, alice, circle.pk, [bob.pk])
    delivered(alice, f"{SECRET} @bob", visibility="circle", circle_id=circle.pk)
    assert SECRET in api_of(bob).get("/api/v1/notifications").text
    remove_members(Circle, alice, circle.pk, [bob.pk])
    assert SECRET not in api_of(bob).get("/api/v1/notifications").text


def test_nobody_is_told_of_a_circle_post_that_is_not_for_them(alice, carol):
    circle = create_group(Circle, alice, name="Ours")
    delivered(alice, "hello @carol", visibility="circle", circle_id=circle.pk)
    assert not Notification.objects.exists()
