"""Mixed reads and writes while caches die and come back: no page fails, nothing old is shown, counts end right."""

import random
import re
import threading
import time
from collections import Counter

import pytest
from django.db import connections

from apps.engagement.actions import like_post, unlike_post
from apps.engagement.models import Like
from apps.events import actions as events
from apps.graph.actions import block_user, follow_user, unblock_user, unfollow_user
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post
from apps.timeline.fanout import dispatch
from feedcache.connections import timelines
from runner.services.service import restart
from tests.support.factories import deliver, delivered, make_user, publish
from tests.support.services import running
from tests.support.waiting import wait_until

pytestmark = pytest.mark.flows

EDIT = re.compile(r"edit (\d+)")


class History:
    """What has been acknowledged: a read that begins later must show it."""

    def __init__(self):
        self.edits = {}
        self.deleted = set()
        self.faults = []
        self.reads = Counter()
        self.acts = 0

    def check(self, statuses, *, edits, deleted, who):
        for status in statuses:
            post_id = int(status["id"])
            if post_id in deleted:
                self.faults.append(f"{who} read the deleted {post_id}")
            found = EDIT.search(status["content"])
            if found and int(found[1]) < edits.get(post_id, 0):
                self.faults.append(
                    f"{who} read edit {found[1]} of {post_id} after {edits[post_id]}"
                )


def reader(api, address, history, stopping):
    while not stopping.is_set():
        edits, deleted = dict(history.edits), set(history.deleted)
        response = api.get(address)
        history.reads[response.status_code] += 1
        if response.status_code != 200:
            history.faults.append(f"{address}: {response.status_code}")
            return
        history.check(response.json(), edits=edits, deleted=deleted, who=address)


def writer(people, posts, history, stopping):
    chance, alive = random.Random(3), [post.pk for post in posts]
    authors = {post.pk: post.author for post in posts}
    while not stopping.is_set():
        history.acts = number = history.acts + 1
        target = chance.choice(alive)
        act = chance.choice(["edit", "edit", "like", "unlike", "publish", "delete", "follow"])
        someone = chance.choice(people)
        if act == "edit":
            edit_post(authors[target], target, body=f"edit {number}")
            history.edits[target] = number
        elif act == "like":
            like_post(someone, target)
        elif act == "unlike":
            unlike_post(someone, target)
        elif act == "publish":
            post = publish(people[0], f"edit {number}")
            alive.append(post.pk)
            authors[post.pk] = people[0]
        elif act == "delete" and len(alive) > 10:
            alive.remove(target)
            delete_post(target, by=authors[target])
            history.deleted.add(target)
        elif act == "follow":
            other = chance.choice([one for one in people if one != someone])
            chance.choice([follow_user, unfollow_user])(someone, other)


def worker(stopping):
    while not stopping.is_set():
        if not events.run_due(limit=50) and not dispatch.run_due(limit=50):
            time.sleep(0.05)


def in_background(target, *arguments, failures):
    def run():
        try:
            target(*arguments)
        except Exception as error:  # noqa: BLE001 -- reported by the test
            failures.append(repr(error))
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def killed(server, go_on=lambda: None):
    """kill -9, a while without it, and a new start with nothing in memory."""
    server.child.kill()
    go_on()
    restart(server)
    go_on()


def flushed():
    timelines().flushall()


def test_faults_during_mixed_reads_and_writes(
    transactional_db, settings, alice, bob, carol, api_of
):
    if not running().memcached:
        pytest.skip("no memcached on this machine")
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    people = [alice, bob, carol, *(make_user() for _ in range(3))]
    for one in people[1:]:
        follow_user(one, alice)
    posts = [publish(alice, "edit 0") for _ in range(20)]
    deliver()
    addresses = [
        "/api/v1/timelines/home",
        f"/api/v1/accounts/{alice.pk}/statuses",
        "/api/v1/timelines/public",
    ]
    history, stopping, failures = History(), threading.Event(), []
    threads = [
        in_background(reader, api_of(bob), address, history, stopping, failures=failures)
        for address in addresses
    ]
    threads.append(in_background(writer, people, posts, history, stopping, failures=failures))
    threads.append(in_background(worker, stopping, failures=failures))

    def go_on():
        """A while of reads and writes."""
        reads, acts = sum(history.reads.values()) + 30, history.acts + 20
        wait_until(
            lambda: (
                failures
                or history.faults
                or (sum(history.reads.values()) >= reads and history.acts >= acts)
            ),
            "readers and writers go on",
            seconds=120,
        )

    try:
        for server in running().memcached:
            killed(server, go_on)
        flushed()
        go_on()
        killed(running().redis, go_on)
    finally:
        stopping.set()
        for thread in threads:
            thread.join(30)
    deliver()
    assert failures == []
    assert history.faults == []
    assert set(history.reads) == {200}
    assert len(history.edits) > 10
    likes = Counter(Like.objects.filter(post__deleted_at=None).values_list("post", flat=True))
    shown = {
        int(status["id"]): status["favourites_count"]
        for status in api_of(bob).get(f"/api/v1/accounts/{alice.pk}/statuses?limit=40").json()
    }
    assert shown == {post_id: likes[post_id] for post_id in shown}


def test_a_block_acts_on_the_next_read_whatever_the_caches_do(transactional_db, alice, bob, api_of):
    delivered(alice, "Hello.")
    api = api_of(bob)
    for fault in (lambda: None, flushed, lambda: killed(running().redis)):
        assert len(api.get("/api/v1/timelines/public").json()) == 1
        block_user(alice, bob)
        assert api.get("/api/v1/timelines/public").json() == []
        fault()
        assert api.get("/api/v1/timelines/public").json() == []
        unblock_user(alice, bob)
        assert len(api.get("/api/v1/timelines/public").json()) == 1
    assert Post.objects.count() == 1
