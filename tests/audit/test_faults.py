"""Faults put into the rows and the caches by hand: each is found within a minute of turns, named and counted."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db.models import F

from apps.audit import auditor, tasks
from apps.audit.models import AuditFinding, AuditRun, Kind
from apps.events.actions import purge_done
from apps.events.leases import State
from apps.events.models import Event
from apps.graph.models import Follower
from apps.pagination import Cursor
from apps.posts.models import PostCounts
from apps.timeline.fanout import receipts
from apps.timeline.fanout.progress import discard_dead
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk, FanoutJob
from apps.timeline.sources.home_cache import HOME
from tests.audit.test_auditor import age
from tests.support.factories import deliver, delivered, make_follow, make_user, publish

pytestmark = pytest.mark.django_db
TURNS = 6  # a minute: the auditor runs every ten seconds


@pytest.fixture(autouse=True)
def _every_page(settings):
    settings.AUDIT_SAMPLE_RATE, settings.AUDIT_GRACE_SECONDS = 0, 0


@pytest.fixture
def posts(alice, bob, settings):
    """Four deliveries to eight followers in four chunks, long since done; bob is online."""
    settings.FANOUT_CHUNK_SIZE = 2
    for _ in range(7):
        make_follow(make_user(), alice)
    home_timeline(bob, Cursor())
    made = [publish(alice, f"number {number}").pk for number in range(4)]
    deliver()
    age()
    assert FanoutChunk.objects.filter(job=made[2], number__gt=0).count() == 4
    return made


def violations(turns=TURNS):
    """Found within so many turns, and by what runs beside them."""
    before = AuditFinding.objects.count()
    counted = sum(auditor.run_once().violations for _ in range(turns))
    tasks.reconcile_counts()
    counted += sum(AuditRun.objects.filter(seconds=0).values_list("violations", flat=True))
    AuditRun.objects.filter(seconds=0).update(seconds=0.1)  # counted now
    deliver()
    assert counted == AuditFinding.objects.count() - before
    return counted


def in_words(capsys):
    call_command("audit", "status")
    return capsys.readouterr().out


def lose_mirror(post_id, bob):
    Follower.objects.filter(follower=bob).delete()


def lose_job(post_id, bob):
    FanoutJob.objects.filter(pk=post_id).delete()


def lose_job_and_events(post_id, bob):
    """As if the events were purged long ago."""
    FanoutJob.objects.filter(pk=post_id).delete()
    days = timedelta(days=settings.EVENT_DAYS + 1)
    Event.objects.update(finished_at=F("finished_at") - days)
    assert purge_done()


def falsify_receipt(post_id, bob):
    chunk = FanoutChunk.objects.get(job=post_id, delivered=1)
    FanoutChunk.objects.filter(pk=chunk.pk).update(
        delivered=0, dormant=chunk.expected, reached=receipts.pack([])
    )


def falsify_readers(post_id, bob):
    FanoutChunk.objects.filter(job=post_id, number=1).update(reached=receipts.pack([bob.pk + 1]))


def lose_last_receipt(post_id, bob):
    FanoutJob.objects.filter(pk=post_id).update(receipts=F("receipts") - 1)


def lose_window_id(post_id, bob):
    HOME.remove(bob.pk, [post_id])


def change_count(post_id, bob):
    PostCounts.objects.filter(pk=post_id).update(likes=7)


def lose_chunk(post_id, bob):
    FanoutChunk.objects.get(job=post_id, delivered=1).delete()
    HOME.remove(bob.pk, [post_id])


FAULTS = [
    (
        lose_mirror,
        Kind.MIRROR,
        "The follow from @bob to @alice was in only one of the two lists",
        True,
    ),
    (lose_job, Kind.UNDELIVERED, "by @alice was published, but its delivery never began", True),
    (lose_job_and_events, Kind.UNDELIVERED, "by @alice was published", True),
    (falsify_receipt, Kind.RECEIPT, "by @alice was changed or removed", False),
    (falsify_readers, Kind.RECEIPT, "by @alice was changed or removed", False),
    (lose_last_receipt, Kind.RECEIPT, "by @alice was changed or removed", False),
    (lose_window_id, Kind.WINDOW, "The home cache or inbox of @bob lacked post", True),
    (change_count, Kind.COUNT, "by @alice, for example, the count was 7 instead of 0", True),
    (lose_chunk, Kind.CHUNK, "by @alice had 4 parts, of which only 3 were left", True),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("break_it", "kind", "words", "is_repaired"), FAULTS, ids=[f[0].__name__ for f in FAULTS]
)
def test_a_fault_is_found_named_counted_and_repaired(
    posts, bob, capsys, break_it, kind, words, is_repaired
):
    assert violations(1) == 0
    break_it(posts[2], bob)
    assert violations()
    findings = AuditFinding.objects.filter(kind=kind)
    assert findings.count() >= 1
    assert words in in_words(capsys)
    assert all(bool(finding.repaired_at) == is_repaired for finding in findings)
    if kind in {Kind.CHUNK, Kind.UNDELIVERED, Kind.WINDOW}:
        assert posts[2] in {item.id for item in home_timeline(bob, Cursor()).items}
        assert FanoutChunk.objects.filter(job=posts[2], state=State.DONE).count() == 4
    assert violations(3) == 0


@pytest.mark.slow
def test_a_healthy_site_is_compared_and_nothing_is_made_up(posts):
    run = auditor.run_once()
    assert (run.violations, run.deliveries, run.receipts) == (0, 4, 16)
    assert (run.follows, run.windows) == (8 + 8, 1)  # the rows of both lists
    assert run.counts >= 2  # of posts and of people, from a random one on
    FanoutChunk.objects.all().delete()
    FanoutJob.objects.all().delete()
    assert auditor.run_once().deliveries == 0


@pytest.mark.long
def test_what_was_given_up_stays_on_record(posts, alice, capsys):
    FanoutChunk.objects.filter(job=posts[2], number=4).update(state=State.DEAD)
    assert discard_dead([posts[2]]) == 1
    assert violations()
    assert "by @alice to 2 followers was given up for good. (NOT repaired)" in in_words(capsys)
    assert AuditFinding.objects.filter(kind=Kind.LOST).count() == 1
    assert violations() == 0


@pytest.mark.slow
def test_a_count_that_another_task_repairs_is_reported(alice):
    post = delivered(alice)
    PostCounts.objects.filter(pk=post.pk).update(likes=7)
    tasks.reconcile_counts()
    assert PostCounts.objects.get(pk=post.pk).likes == 0
    run = AuditRun.objects.get()
    assert run.violations == run.repaired == run.findings.count() >= 1
    assert {finding.post_id for finding in run.findings.all()} == {post.pk}
    tasks.reconcile_counts()
    assert AuditRun.objects.count() == 1


@pytest.mark.slow
def test_a_receipt_is_written_once_and_packs_whom_it_reached(posts):
    chunk = FanoutChunk.objects.filter(job=posts[2]).earliest("number")
    before = FanoutJob.objects.get(pk=posts[2])
    receipts.write(chunk, {"expected": 9, "delivered": 9})
    assert FanoutJob.objects.get(pk=posts[2]).seal == before.seal
    readers = [make_user().pk for _ in range(3)]
    for ids in ([], [7], readers, range(1, 9_000, 3), [2**40, 5, 2**62]):
        assert list(receipts.unpack(receipts.pack(ids))) == sorted(ids)
