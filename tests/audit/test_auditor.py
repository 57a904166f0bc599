"""The auditor: it is silent while all is right, finds what is wrong, and repairs it."""

import json
import time
from dataclasses import asdict, replace
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone

from apps.accounts.models import UserCounts
from apps.accounts.queries import user_by_id
from apps.audit import auditor
from apps.audit.comparison.pages import Sample
from apps.audit.models import AuditFinding, AuditRun, Kind
from apps.audit.repairs import AuditPass
from apps.events.leases import State
from apps.graph.actions import block_user, follow_user, mute_user, unfollow_user
from apps.graph.models import Followee, Follower
from apps.pagination import Cursor, Page
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post
from apps.timeline.fanout.receipts import seal_loaded
from apps.timeline.fanout.switch import set_author_policy
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk, FanoutJob, Policy
from apps.timeline.pipeline import sampling
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.connections import timelines
from feedcache.structures.home_window import mark_deleted
from tests.support import memory
from tests.support.factories import deliver, delivered, publish
from tests.support.faults import dead_redis
from tests.support.services import running

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _every_page(settings):
    settings.AUDIT_SAMPLE_RATE, settings.AUDIT_GRACE_SECONDS = 1, 0


def age():
    """As if all that happened so far had happened an hour ago."""
    hour = timedelta(hours=1)
    Post.objects.update(created_at=F("created_at") - hour)
    Followee.objects.update(created_at=F("created_at") - hour)
    FanoutChunk.objects.filter(state=State.DONE).update(finished_at=F("finished_at") - hour)
    seal_loaded(
        list(FanoutJob.objects.values_list("pk", flat=True))
    )  # or the receipts look changed
    if running().memcached:
        memory.flush()  # or the cached posts do


@pytest.fixture
def posts(alice, bob):
    """Ten posts of alice's, long since in bob's window."""
    home_timeline(bob, Cursor())
    found = [publish(alice, f"number {number}").pk for number in range(10)]
    deliver()
    age()
    sampling.pop_samples(100)
    return found


def read(viewer, **bounds):
    return [item.id for item in home_timeline(viewer, Cursor(**bounds)).items]


def audited(turns=3):
    """The sums of some turns."""
    runs = [auditor.run_once() for _ in range(turns)]
    return {
        name: sum(getattr(run, name) for run in runs)
        for name in ("pages", "windows", "late", "settled", "violations", "repaired")
    }


@pytest.mark.long
@pytest.mark.gate
def test_a_site_that_is_right_gives_no_findings(alice, bob, carol, posts):
    publish(alice, "for followers", visibility="followers")
    mute_user(carol, alice)
    deliver()
    for viewer in (alice, bob, carol):
        read(viewer, limit=4)
        read(viewer, min_id=posts[2], limit=3)
        read(viewer, max_id=posts[6], since_id=posts[1], limit=20)
    found = audited()
    assert (found["pages"], found["violations"], found["settled"]) == (9, 0, 0)
    assert found["windows"] > 0
    assert AuditRun.objects.count() == 3


@pytest.mark.long
@pytest.mark.gate
def test_what_a_page_leaves_out_is_found_at_the_third_look_and_repaired(bob, posts):
    HOME.remove(bob.pk, [posts[4]])
    assert posts[4] not in read(bob)
    assert auditor.run_once().violations == 0
    assert auditor.run_once().violations == 0
    assert audited(1)["repaired"] == 1
    finding = AuditFinding.objects.get()
    assert (finding.kind, finding.viewer_id, finding.post_id) == (Kind.MISSING, bob.pk, posts[4])
    assert finding.repaired_at is not None
    assert posts[4] in read(bob)
    assert audited()["violations"] == 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda ids: [ids[0], *ids], Kind.REPEATED),
        (lambda ids: [ids[1], ids[0], *ids[2:]], Kind.ORDER),
    ],
)
def test_a_page_that_is_wrong_in_itself_needs_no_second_look(bob, posts, change, kind):
    class Item:
        def __init__(self, id_):
            self.id = id_

    page = home_timeline(bob, Cursor())
    sampling.pop_samples(100)
    shown = [Item(one) for one in change([item.id for item in page.items])]
    sampling.sample_home(bob.pk, Cursor(), Page(shown, page.older, page.newer))
    audited(1)
    assert {finding.kind for finding in AuditFinding.objects.all()} == {kind}


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("way", ["deleted", "blocked", "muted", "never there"])
def test_what_was_shown_although_it_was_gone_is_a_leak(alice, bob, posts, way):
    page = home_timeline(bob, Cursor())
    if way == "deleted":
        delete_post(posts[3], by=alice)
    elif way == "blocked":
        block_user(alice, bob)
    elif way == "muted":
        mute_user(bob, alice)
    else:
        page.items[4] = page.items[4]._replace(post=replace(page.items[4].post, id=posts[5] - 7))
    turn, a_minute_later = AuditPass(), time.time() + 60
    auditor.check_page(turn, Sample.of_page(bob.pk, a_minute_later, Cursor(), page))
    assert Kind.EXTRA in {finding.kind for finding in turn.findings}
    assert all(finding.repaired_at for finding in turn.findings)


@pytest.mark.long
def test_what_changed_after_the_page_was_shown_is_no_violation(alice, bob, carol, posts):
    follow_user(bob, carol)
    own = publish(bob).pk
    deliver()
    assert read(bob)[0] == own
    publish(alice, "a moment later")
    delete_post(posts[3], by=alice)
    publish(carol, "of somebody new")
    block_user(carol, bob)
    deliver()
    assert audited()["violations"] == 0


@pytest.mark.slow
def test_posts_to_friends_are_late_for_a_friend_of_a_moment_ago(alice, bob, posts):
    delivered(alice, "for friends", visibility="friends")
    age()
    read(bob)
    follow_user(alice, bob)
    found = audited(1)
    assert (found["late"] > 0, found["violations"]) == (True, 0)


@pytest.mark.long
def test_what_leaves_no_row_is_settled_by_a_second_look(alice, bob, posts):
    assert len(read(bob)) == 10
    unfollow_user(bob, alice)
    deliver()
    found = audited()
    assert (found["violations"], found["settled"]) == (0, 10)


@pytest.mark.slow
def test_what_the_ledger_still_owes_is_late_not_missing(alice, bob, posts, settings):
    post = delivered(alice)
    HOME.remove(bob.pk, [post.pk])
    FanoutChunk.objects.filter(job=post.pk).update(state=State.PENDING, finished_at=None)
    age()
    read(bob)
    found = audited(1)
    assert (found["late"] > 0, found["violations"]) == (True, 0)


@pytest.mark.slow
def test_a_window_that_lost_a_post_is_rebuilt(bob, posts, settings):
    settings.AUDIT_SAMPLE_RATE = 0
    HOME.remove(bob.pk, [posts[7]])
    assert audited(4)["repaired"] >= 1
    assert {finding.kind for finding in AuditFinding.objects.all()} == {Kind.WINDOW}
    window = HOME.whole(bob.pk)
    assert window is not None
    assert posts[7] in window.ids


@pytest.mark.long
def test_looking_at_windows_keeps_nobody_online(bob, posts):
    timelines().expire(HOME.key(bob.pk), 100)
    audited(2)
    assert timelines().ttl(HOME.key(bob.pk)) <= 100


@pytest.mark.slow
def test_a_post_that_was_never_handed_to_delivery_is(alice, bob, posts):
    FanoutJob.objects.filter(pk=posts[5]).delete()
    HOME.remove(bob.pk, [posts[5]])
    assert audited(1)["repaired"] == 1
    assert AuditFinding.objects.get().kind == Kind.UNDELIVERED
    assert posts[5] in read(bob)


@pytest.mark.long
@pytest.mark.gate
def test_a_delivery_that_was_given_up_is_tried_again_once(alice, bob, posts):
    HOME.remove(bob.pk, [posts[2]])
    dead = FanoutChunk.objects.filter(job=posts[2])
    dead.update(state=State.DEAD, attempts=5, delivered=0, dormant=0, expected=1)
    assert audited(1)["repaired"] == 1
    assert posts[2] in read(bob)
    dead.update(state=State.DEAD, attempts=5)
    assert audited(2)["violations"] == 0  # people have been told


@pytest.mark.slow
def test_a_delivery_that_nobody_takes_is_hurried(alice, bob, posts):
    HOME.remove(bob.pk, [posts[2]])
    long_ago = timezone.now() - timedelta(minutes=5)
    FanoutChunk.objects.filter(job=posts[2]).update(state=State.PENDING, due_at=long_ago)
    assert audited(1)["repaired"] == 1
    assert AuditFinding.objects.get().kind == Kind.STUCK
    deliver()
    assert posts[2] in read(bob)


@pytest.mark.slow
def test_a_list_that_nobody_goes_on_cutting_is_gone_on_with(alice, bob, posts):
    HOME.remove(bob.pk, [posts[2]])
    FanoutChunk.objects.filter(job=posts[2]).delete()
    long_ago = timezone.now() - timedelta(minutes=5)
    FanoutJob.objects.filter(pk=posts[2]).update(state=State.PENDING, due_at=long_ago, scanned_to=0)
    assert audited(1)["repaired"] == 1
    assert posts[2] in read(bob)


@pytest.mark.parametrize("half", [Followee, Follower])
def test_half_a_follow_is_made_whole_or_removed(alice, bob, half):
    other = Follower if half is Followee else Followee
    half.objects.all().delete()
    audited(1)
    assert AuditFinding.objects.get(kind=Kind.MIRROR).repaired_at
    assert other.objects.count() == half.objects.count() == (0 if half is Followee else 1)


def test_what_a_deleted_account_left_of_a_follow_is_removed(alice, bob):
    Followee.objects.filter(owner=bob).update(followee=alice.pk + 10**6)
    Follower.objects.all().delete()
    audited(1)
    assert AuditFinding.objects.get(kind=Kind.MIRROR).repaired_at
    assert not Followee.objects.exists()


def test_a_suspect_of_a_cache_whose_app_was_removed_is_settled():
    suspect = auditor.Suspect(viewer=0, posts=[1], cache="of an app that is gone", due=0)
    timelines().rpush(auditor.SUSPECTS_KEY, json.dumps(asdict(suspect)))
    assert audited(1)["settled"] == 1


@pytest.mark.slow
def test_a_wrong_count_is_put_right(alice, bob, posts):
    UserCounts.objects.filter(user=alice).update(followers=7)
    audited(3)
    assert Kind.COUNT in set(AuditFinding.objects.values_list("kind", flat=True))
    assert UserCounts.objects.get(user=alice).followers == 1


@pytest.mark.long
def test_a_deleted_post_in_a_window_is_no_finding(alice, bob, posts):
    mark_deleted(posts[1])
    delete_post(posts[1], by=alice)
    deliver()
    read(bob)
    assert audited()["violations"] == 0


@pytest.mark.long
@pytest.mark.gate
def test_a_page_is_served_and_a_turn_ends_without_redis(alice, bob, posts):
    with dead_redis():
        assert len(read(bob)) == 10
        run = auditor.run_once()
    assert run.violations == 0


@pytest.mark.slow
def test_samples_are_few_and_are_taken_once(bob, posts, settings):
    for _ in range(sampling.MAX_SAMPLES + 5):
        sampling.sample_home(bob.pk, Cursor(), Page())
    assert timelines().llen(sampling.SAMPLES_KEY) == sampling.MAX_SAMPLES
    assert len(sampling.pop_samples(150)) == 150
    assert len(sampling.pop_samples(150)) == sampling.MAX_SAMPLES - 150
    settings.AUDIT_SAMPLE_RATE = 3
    for _ in range(9):
        sampling.sample_home(bob.pk, Cursor(), Page())
    assert len(sampling.pop_samples(10)) == 3


@pytest.mark.slow
def test_inboxes_are_compared_as_well(alice, bob, posts):
    quiet = delivered(alice, "for followers", visibility="followers")
    age()
    INBOX.remove(bob.pk, [quiet.pk])
    audited(4)
    assert AuditFinding.objects.filter(kind=Kind.WINDOW, post_id=quiet.pk).exists()


@pytest.mark.long
def test_what_is_merged_at_reading_need_not_be_in_a_window(alice, bob, posts):
    set_author_policy(alice, Policy.PULL, by="a test")
    pulled = publish(alice).pk
    deliver()
    age()
    viewer = user_by_id(bob.pk)
    assert pulled in read(viewer)
    window = HOME.whole(bob.pk)
    assert window is None or pulled not in window.ids
    assert audited(4)["violations"] == 0


def test_old_reports_go(settings):
    old = AuditRun.objects.create(started_at=timezone.now() - timedelta(days=40))
    AuditFinding.objects.create(run=old, kind=Kind.MIRROR)
    new = AuditRun.objects.create()
    auditor.purge()
    assert list(AuditRun.objects.all()) == [new]
    assert not AuditFinding.objects.exists()


@pytest.mark.slow
def test_half_a_follow_is_found_among_sparse_ids(alice, bob, carol):
    with connection.cursor() as sql:
        sql.execute("SELECT setval('graph_followee_id_seq', 5000000)")
    follow_user(carol, alice)
    Follower.objects.filter(follower=carol).delete()
    Followee.objects.filter(owner=bob).delete()
    Follower.objects.filter(follower=bob).delete()
    audited(1)
    assert AuditFinding.objects.get(kind=Kind.MIRROR).repaired_at
