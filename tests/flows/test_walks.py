"""Walks through home while everything changes: what stays visible appears once, nothing twice, the order holds (I3).

A walk is one reader who turns pages, down from the newest or up from the oldest. Between any two pages others publish,
delete, follow, leave, and deliveries come late; windows are trimmed, evicted, flushed, rebuilt; servers restart.
CI walks often enough for every frequent act to happen in between; `WALKS=20000 pytest tests/flows/test_walks.py -s`
makes as many walks as it is told and prints what happened.
"""

import os
import random
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pytest

from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.audit.oracle import Oracle
from apps.deadline import budget
from apps.errors import DomainError
from apps.events import actions as events
from apps.events.leases import State
from apps.events.models import Event
from apps.graph.actions import block_user, follow_user, mute_user, unfollow_user, unmute_user
from apps.graph.groups.actions import add_members, create_group, leave_circle
from apps.graph.models import Circle, Follower
from apps.pagination import Cursor
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post
from apps.timeline.fanout import dispatch
from apps.timeline.fanout.switch import set_author_policy, set_site_policy
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk, FanoutJob, Policy
from feedcache.connections import timelines
from tests.support.factories import deliver, make_user, publish, repost
from tests.support.services import running
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.flows, pytest.mark.long]

WALKS = int(os.environ.get("WALKS", "120"))
SEED = int(os.environ.get("WALKS_SEED", "1"))
ENOUGH_FOR_RARE_ACTS = 2_000
PEOPLE, AT_ONCE, WALKS_PER_WORLD, MAX_POSTS = 8, 10, 500, 40
LIMITS = [5, 10, 20, 40]
TIMEOUT_SECONDS = 30
ON_THE_WAY = r"^apps\.(accounts|graph|posts|timeline)\."  # the subscribers that a page depends on
SHORT_HOME, SHORT_INBOX = 12, 6  # so that every walk leaves the windows


@dataclass
class FollowerScan:
    """One reader on the way. `must` is what the reader has to meet, unless it changes before the end."""

    viewer: User
    ascending: bool
    limit: int
    must: set[int] = field(default_factory=set)
    seen: list[int] = field(default_factory=list)
    changed_people: set[int] = field(default_factory=set)
    changed_circles: set[int] = field(default_factory=set)
    changed_posts: set[int] = field(default_factory=set)
    at: int | None = None
    pages: int = 0

    def turn(self):
        """Read the next page; whether there is another one."""
        page = self.read()
        ids = [item.id for item in page.items]
        assert ids == sorted(set(ids), reverse=True), "a page is newest first"
        assert len(ids) <= self.limit
        self.seen += reversed(ids) if self.ascending else ids
        self.pages += 1
        self.at = page.newer if self.ascending else page.older
        return self.at is not None

    def read(self):
        """The next page; one that says that it lacks a source is asked for again, as the page itself does."""
        at = {"min_id": self.at or 0} if self.ascending else {"max_id": self.at}

        def whole_page():
            as_now = user_by_id(self.viewer.pk)  # as a request reads the account
            with budget(TIMEOUT_SECONDS) as spent:
                page = home_timeline(as_now, Cursor(**at, limit=self.limit))
            return None if spent.missing else page

        return wait_until(whole_page, "a page lacks no source", seconds=TIMEOUT_SECONDS)

    def is_sure(self, oracle, post_id):
        """Whether nothing happened to a post, its author, or the source it shares, since the walk began."""
        post = oracle.posts[post_id]
        source = oracle.posts.get(post["source_id"])
        people = {post["author_id"]} | ({source["author_id"]} if source else set())
        return (
            people.isdisjoint(self.changed_people)
            and self.changed_posts.isdisjoint({post_id, post["source_id"]})
            and post["circle_id"] not in self.changed_circles
        )


class World:
    """People, and what happens to them between two pages."""

    def __init__(self, chance, tally):
        self.chance, self.tally = chance, tally
        self.people = [make_user() for _ in range(PEOPLE)]
        self.walks = []
        for one in self.people:
            for other in chance.sample(self.people, 5):
                with suppress(DomainError):
                    follow_user(one, other)
        owner = self.people[0]
        self.circle = create_group(Circle, owner, name="Ours", is_shared=True).pk
        followers = Follower.objects.filter(owner=owner).values_list("follower_id", flat=True)
        add_members(Circle, owner, self.circle, followers)
        for _ in range(MAX_POSTS):
            with suppress(DomainError):  # not everybody belongs to the circle
                self.say()
        deliver()

    # --- walks

    def run(self, number):
        """So many walks, a few at a time."""
        begun = 0
        while begun < number or self.walks:
            while begun < number and len(self.walks) < AT_ONCE:
                self.begin()
                begun += 1
            self.happen()
            walk = self.chance.choice(self.walks)
            if not walk.turn():
                self.walks.remove(walk)
                self.end(walk)

    def begin(self):
        viewer = self.chance.choice(self.people)
        walk = FollowerScan(viewer, self.chance.random() < 0.4, self.chance.choice(LIMITS))
        self._is_late(walk)
        oracle = Oracle.of_viewer(viewer.pk)
        home = [one for one in oracle.home(viewer.pk) if walk.is_sure(oracle, one)]
        done = FanoutJob.objects.filter(pk__in=home, state=State.DONE)
        done = done.exclude(chunks__state=State.PENDING)
        own = {one for one in home if oracle.posts[one]["author_id"] == viewer.pk}
        walk.must = set(done.values_list("pk", flat=True)) | own
        self.walks.append(walk)

    def _is_late(self, walk):
        """What the ledger of events still owes this reader may come later."""
        for name, payload in Event.objects.filter(state=State.PENDING).values_list(
            "name", "payload"
        ):
            # a follow back begins a friendship, and brings the posts to friends
            follow = {payload.get("follower_id"), payload.get("followee_id")}
            if walk.viewer.pk in follow:
                walk.changed_people |= follow - {walk.viewer.pk}
            elif name == "circle_changed":
                walk.changed_circles.add(payload["circle_id"])
            elif "post_id" in payload:
                walk.changed_posts.add(payload["post_id"])

    def end(self, walk):
        oracle = Oracle.of_viewer(walk.viewer.pk)
        home = oracle.home(walk.viewer.pk)
        expected = {one for one in home if one in walk.must and walk.is_sure(oracle, one)}
        repeated = [one for one, times in Counter(walk.seen).items() if times > 1]
        omitted = expected - set(walk.seen)
        assert not repeated, f"repeated {repeated}"
        assert not omitted, f"omitted {omitted} of {len(expected)}"
        assert walk.seen == sorted(walk.seen, reverse=not walk.ascending)
        self.tally.update(
            walks=1, up=walk.ascending, pages=walk.pages, shown=len(walk.seen), owed=len(expected)
        )

    # --- what happens

    def happen(self):
        acts = {
            self.say: 10,
            self.delete: 6,
            self.delete_at_cursor: 2,
            self.work: 14,
            self.relate: 8,
            self.share: 2,
            self.edit: 2,
            self.join_or_leave: 1,
            self.evict: 3,
            self.flip: 3,
            self.flush: 0.5,
            self.restart: 0.02,
        }
        for act in self.chance.choices(
            list(acts), acts.values(), k=self.chance.choice([0, 1, 1, 2])
        ):
            with suppress(DomainError):  # what nobody may do is refused; the history goes on
                act()
                self.tally[act.__name__] += 1

    def alive(self):
        return Post.objects.filter(author__in=self.people, deleted_at=None).order_by("pk")

    def any_post(self, **wanted):
        ids = list(self.alive().filter(**wanted).values_list("pk", flat=True))
        return self.chance.choice(ids) if ids else None

    def say(self):
        one, other = self.chance.sample(self.people, 2)
        visibility = self.chance.choice(
            ["public"] * 5 + ["followers", "friends", "mentioned", "circle"]
        )
        circle = self.circle if visibility == "circle" else None
        publish(one, f"hello @{other.handle}", visibility=visibility, circle_id=circle)
        if self.alive().count() > MAX_POSTS:
            self.delete()

    def delete(self):
        self._delete(self.any_post())

    def delete_at_cursor(self):
        """The very post that a reader's next page begins behind."""
        if self.walks:
            self._delete(self.chance.choice(self.walks).at)

    def _delete(self, post_id):
        post = Post.objects.filter(pk=post_id, deleted_at=None).select_related("author").first()
        if post is not None:
            delete_post(post_id, by=post.author)

    def work(self):
        """One piece of work, or all: deliveries arrive late and in any order."""
        Event.objects.exclude(subscriber__regex=ON_THE_WAY).delete()
        if self.chance.random() < 0.3:
            deliver()
            return
        run, model = self.chance.choice([(events.run_due, Event), (dispatch.run_due, FanoutChunk)])
        due = list(model.objects.filter(state=State.PENDING).values_list("pk", flat=True))
        if due:
            run(limit=1, only=[self.chance.choice(due)])

    def relate(self):
        one, other = self.chance.sample(self.people, 2)
        ways = [follow_user] * 6 + [
            unfollow_user,
            unfollow_user,
            mute_user,
            unmute_user,
            unmute_user,
        ]
        if self.chance.random() < 0.02:
            ways = [block_user]
        for walk in self.walks:
            if walk.viewer in (one, other):
                walk.changed_people |= {one.pk, other.pk} - {walk.viewer.pk}
                walk.changed_circles.add(self.circle)
        self.chance.choice(ways)(one, other)

    def share(self):
        source = self.any_post(visibility="public", kind="text")
        if source is not None:
            repost(self.chance.choice(self.people), source)

    def edit(self):
        post = self.alive().filter(kind="text", pk=self.any_post(kind="text")).first()
        if post is not None:
            for walk in self.walks:
                walk.changed_posts.add(post.pk)
            named = self.chance.choice(self.people).handle
            edit_post(post.author, post.pk, body=f"Edited for @{named}")

    def join_or_leave(self):
        for walk in self.walks:
            walk.changed_circles.add(self.circle)
        person = self.chance.choice(self.people[1:])
        if self.chance.random() < 0.4:
            leave_circle(person, self.circle)
        else:
            add_members(Circle, self.people[0], self.circle, [person.pk])

    def flip(self):
        """Another policy for an author, or for the site: how posts are delivered must not be seen."""
        policy = self.chance.choice([Policy.PUSH, Policy.ONLINE, Policy.PULL])
        if self.chance.random() < 0.1:
            set_site_policy(policy, by="a test")
        else:
            set_author_policy(self.chance.choice(self.people), policy, by="a test")

    def evict(self):
        keys = sorted(timelines().scan_iter(count=1000))
        if keys:
            timelines().delete(*self.chance.sample(keys, max(1, len(keys) // 4)))

    def flush(self):
        timelines().flushdb()

    def restart(self):
        """Redis or a Memcached is killed and comes back empty."""
        server = self.chance.choice([running().redis, *running().memcached])
        server.child.kill()
        server.start()


def figures(tally):
    return ", ".join(f"{number} {name}" for name, number in sorted(tally.items()))


@pytest.fixture
def _short_windows(monkeypatch, settings):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    settings.FANOUT_CHUNK_SIZE = 2
    for name, module in list(sys.modules.items()):
        if name.startswith("apps.timeline."):
            for windows, length in (("HOME", SHORT_HOME), ("INBOX", SHORT_INBOX)):
                if hasattr(module, windows):
                    short = replace(getattr(module, windows), length=length)
                    monkeypatch.setattr(module, windows, short)


@pytest.mark.usefixtures("_short_windows")
def test_a_walk_meets_everything_once_whatever_happens_meanwhile(transactional_db):
    tally = Counter()
    number = 0
    while tally["walks"] < WALKS:
        seed, number = SEED * 1_000_000 + number, number + 1
        size = min(WALKS_PER_WORLD, WALKS - tally["walks"])
        try:
            World(random.Random(seed), tally).run(size)
        except AssertionError as error:
            raise AssertionError(f"world {seed}: {error}") from error
        print(f"repeats 0, omissions 0: {figures(tally)}")  # noqa: T201 -- of an evidence run
    assert tally["owed"] > 5 * WALKS  # walks without posts prove nothing
    acts = ["delete_at_cursor", "work", "relate", "flip", "evict"]
    if WALKS >= ENOUGH_FOR_RARE_ACTS:
        acts += ["flush", "restart"]
    assert min(tally[act] for act in acts) > 0
