"""Changes of policy while people write, delete, follow and read: at the end every page equals the oracle.

CI makes enough of them for each to meet each; `FLIPS=1000 pytest tests/flows/test_policy_flips.py` is the long form.
"""

import os
import random
import time
from contextlib import suppress

import pytest

from apps.accounts.queries import user_by_id
from apps.audit.oracle import Oracle
from apps.errors import DomainError
from apps.events import actions as events
from apps.graph.actions import follow_user, unfollow_user
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post
from apps.timeline.fanout import dispatch, switch
from apps.timeline.fanout.switch import set_author_policy, set_site_policy
from apps.timeline.home import home_timeline
from apps.timeline.models import AuthorPolicy, Backfill, Policy, PolicyChange
from tests.support.factories import deliver, make_user, publish
from tests.support.threads import together

pytestmark = [pytest.mark.flows, pytest.mark.long]

FLIPS = int(os.environ.get("FLIPS", "400"))
AUTHORS, READERS = 4, 4
SWITCHERS, WRITERS, LOOKERS, WORKERS = 2, 1, 1, 2
OF_SITE = 0.05  # of the flips
CHOICES = (Policy.PUSH, Policy.ONLINE, Policy.PULL)
SECONDS = 50


class World:
    """Some authors and readers, and threads that do one thing each until the flips are done."""

    def __init__(self, seed):
        self.seed = seed
        self.authors = [make_user() for _ in range(AUTHORS)]
        self.readers = [make_user() for _ in range(READERS)]
        for reader in self.readers:
            for author in self.authors[:3]:
                follow_user(reader, author)
        deliver()
        for reader in self.readers[1:]:  # the first one comes later
            home_timeline(reader, Cursor())
        self.left, self.until = SWITCHERS, time.monotonic() + SECONDS

    def run(self, index):
        chance = random.Random(f"{self.seed}-{index}")
        if index < SWITCHERS:
            for _ in range(FLIPS // SWITCHERS):
                self.flip(chance)
            self.left -= 1
            return
        work = [self.write] * WRITERS + [self.look] * LOOKERS + [self.deliver] * WORKERS
        while self.left and time.monotonic() < self.until:
            work[index - SWITCHERS](chance)

    def flip(self, chance):
        if chance.random() < OF_SITE:
            set_site_policy(chance.choice(CHOICES), by="a test")
        else:
            author = chance.choice(self.authors)
            set_author_policy(author, chance.choice([*CHOICES, Policy.SITE]), by="a test")

    def write(self, chance):
        author, reader = chance.choice(self.authors), chance.choice(self.readers)
        mine = list(Post.objects.filter(author=author, deleted_at=None).values_list("pk", flat=True))  # fmt: skip
        with suppress(DomainError):
            act = chance.random()
            if act < 0.6:
                publish(author, visibility=chance.choice(["public", "public", "followers"]))
            elif act < 0.75 and mine:
                delete_post(chance.choice(mine), by=author)
            else:
                chance.choice([follow_user, follow_user, unfollow_user])(reader, author)

    def look(self, chance):
        home_timeline(user_by_id(chance.choice(self.readers).pk), Cursor())

    def deliver(self, _chance):
        if not events.run_due(limit=5) + dispatch.run_due(limit=5):
            time.sleep(0.005)


@pytest.mark.parametrize("seed", [1])
def test_flips_under_load_leave_no_difference(transactional_db, settings, seed):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    world = World(seed)
    together(SWITCHERS + WRITERS + LOOKERS + WORKERS, world.run)
    assert PolicyChange.objects.count() == FLIPS
    assert Post.objects.count() > 20
    assert Backfill.objects.count() > 20
    deliver()
    switch.maintain()
    oracle = Oracle()
    for reader in world.readers:
        assert walked(user_by_id(reader.pk)) == oracle.home(reader.pk)
    for author in AuthorPolicy.objects.values_list("pk", flat=True):
        set_author_policy(user_by_id(author), Policy.ONLINE, by="a test")
    set_site_policy(Policy.ONLINE, by="a test")
    deliver()
    assert not AuthorPolicy.objects.filter(pulled_since__isnull=False).exists()
    for reader in world.readers:  # and now by the windows alone
        assert walked(user_by_id(reader.pk)) == oracle.home(reader.pk)


def walked(viewer, limit=7):
    """All ids of a home timeline, from the newest page to the last."""
    found, cursor = [], Cursor(limit=limit)
    while True:
        page = home_timeline(viewer, cursor)
        found += [item.id for item in page.items]
        if page.older is None:
            return found
        cursor = Cursor(max_id=page.older, limit=limit)
