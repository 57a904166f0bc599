"""After random histories, and whatever was lost from the caches meanwhile, every page equals the oracle."""

import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from apps.accounts.queries import user_by_id
from apps.audit.oracle import Oracle
from apps.engagement.actions import bookmark_post, like_post, unbookmark_post, unlike_post
from apps.engagement.tasks import maintain_filters
from apps.errors import DomainError
from apps.graph.actions import (
    block_user,
    follow_user,
    mute_user,
    unblock_user,
    unfollow_user,
    unmute_user,
)
from apps.pagination import Cursor
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post
from apps.promotions.actions import opt_in, opt_out, state_trait, withdraw_trait
from apps.timeline.home import home_timeline
from apps.timeline.profile import ProfileFilter, profile_timeline
from apps.timeline.public import public_timeline
from apps.timeline.publishing import undo_repost
from feedcache.connections import timelines
from tests.promotions.conftest import (
    make_campaign,
    make_segment,
    side_by_side,  # noqa: F401 -- a fixture
    start,
    trait,
)
from tests.support.factories import deliver, make_user, publish, repost
from tests.support.services import running

pytestmark = [
    pytest.mark.flows,
    pytest.mark.long,
    pytest.mark.usefixtures("side_by_side"),
]

STEPS, LOOK_EVERY, PEOPLE = 150, 25, 4


def follow_without_reposts(one, other):
    follow_user(one, other, reposts=False)


class World:
    """A few people who do things at random, and caches that lose things at random."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.people = [make_user() for _ in range(PEOPLE)]
        # everybody who says so sees the first one's open posts
        start(make_campaign(self.people[0], make_segment("freshers", "", ("trait", trait()))))

    def step(self):
        one, other = self.chance.sample(self.people, 2)
        posts = list(Post.objects.filter(deleted_at=None).values_list("pk", "author"))
        act = self.chance.choice(
            [self._publish, self._publish, self._publish, self._answer, self._relate, self._relate, self._mark,
             self._mark, self._repost, self._edit, self._delete, self._lose, self._promote]
        )  # fmt: skip
        with suppress(DomainError):  # what nobody may do is refused; the history goes on
            act(one, other, posts)
        if self.chance.random() < 0.3:
            deliver()
        if self.chance.random() < 0.2:  # pages believe the existence filters while they are whole
            maintain_filters()

    def _publish(self, one, other, posts):
        visibility = self.chance.choice(["public", "public", "unlisted", "followers", "mentioned"])
        publish(one, f"Hello @{other.handle}", visibility=visibility)

    def _answer(self, one, other, posts):
        if posts:
            publish(one, "An answer.", reply_to_id=self.chance.choice(posts)[0])

    def _relate(self, one, other, posts):
        acts = (
            [follow_user] * 4
            + [follow_without_reposts] * 2
            + [unfollow_user, block_user, unblock_user, mute_user, unmute_user]
        )
        self.chance.choice(acts)(one, other)

    def _mark(self, one, other, posts):
        acts = [like_post, like_post, unlike_post, bookmark_post, unbookmark_post]
        if posts:
            self.chance.choice(acts)(one, self.chance.choice(posts)[0])

    def _repost(self, one, other, posts):
        acts: list[Callable[..., object]] = [repost, repost, undo_repost]
        if posts:
            self.chance.choice(acts)(one, self.chance.choice(posts)[0])

    def _edit(self, one, other, posts):
        mine = [post for post, author in posts if author == one.pk]
        if mine:
            edit_post(one, self.chance.choice(mine), body=f"Edited for @{other.handle}")

    def _delete(self, one, other, posts):
        mine = [post for post, author in posts if author == one.pk]
        if mine:
            delete_post(self.chance.choice(mine), by=one)

    def _promote(self, one, other, posts):
        slug = trait().slug
        acts = (
            [lambda: state_trait(one, slug)] * 3
            + [lambda: withdraw_trait(one, slug), lambda: opt_out(one)]
            + [lambda: opt_in(one)] * 2
        )
        self.chance.choice(acts)()

    def _lose(self, one, other, posts):
        """Something is evicted; sometimes everything."""
        redis = timelines()
        keys = list(redis.scan_iter(count=1000))
        if self.chance.random() < 0.2:
            redis.flushall()
        elif keys:
            redis.delete(*self.chance.sample(keys, max(1, len(keys) // 4)))
        if running().memcached and self.chance.random() < 0.3:
            server = self.chance.choice(running().memcached)
            killed(server)
            server.start()

    def look(self):
        deliver()
        oracle = Oracle()
        for viewer in self.people:
            home = walked(partial(home_timeline, viewer), limit=7)
            assert [item.id for item in home] == oracle.home(viewer.pk)
            assert Oracle.of_viewer(viewer.pk).home(viewer.pk) == oracle.home(viewer.pk)
            public = walked(partial(public_timeline, viewer), limit=20)
            assert [item.id for item in public] == oracle.public(viewer.pk)
            for author in self.people:
                for replies in (False, True):
                    self._look_at_profile(oracle, author, viewer, replies=replies)
            for item in home:
                self._look_at_item(oracle, item.shown, viewer)

    def _look_at_profile(self, oracle, author, viewer, *, replies):
        as_now = user_by_id(author.pk)  # as a request reads the account
        wanted = ProfileFilter(replies=replies)

        def page(cursor):
            return profile_timeline(as_now, viewer, cursor, wanted)

        found = [item.id for item in walked(page, limit=9)]
        assert found == oracle.profile(author.pk, viewer.pk, replies=replies)

    def _look_at_item(self, oracle, item, viewer):
        counts = item.counts
        assert (counts.replies, counts.reposts, counts.likes) == oracle.counts(item.id)
        assert item.flags.liked == (viewer.pk in oracle.likes[item.id])
        assert item.flags.bookmarked == (viewer.pk in oracle.bookmarks[item.id])
        assert item.post.body == oracle.posts[item.id]["body"]


def killed(server):
    server.child.kill()


def walked(page_of, *, limit):
    """All items from the newest page to the last."""
    items, cursor = [], Cursor(limit=limit)
    while True:
        page = page_of(cursor)
        items += page.items
        if page.older is None:
            return items
        cursor = Cursor(max_id=page.older, limit=limit)


@pytest.mark.parametrize("seed", range(3))
def test_pages_equal_the_oracle(transactional_db, settings, seed):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    world = World(seed)
    for step in range(1, STEPS + 1):
        world.step()
        if step % LOOK_EVERY == 0:
            world.look()
    assert Post.objects.count() > 25
