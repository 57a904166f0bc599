"""Values that the caches hold and that are not what PostgreSQL says are found, named and repaired."""

from dataclasses import replace

import pytest
from django.utils import timezone

from apps.accounts.cache import CARDS, load_cards
from apps.accounts.models import UserCounts
from apps.accounts.queries import user_by_id, users_by_id
from apps.audit import auditor
from apps.audit.comparison.cached import caches
from apps.audit.models import AuditFinding, Kind, Subject, finding_text
from apps.pagination import Cursor
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.cache import CACHED_POSTS, RECENT, load_cached_posts
from apps.posts.models import Post
from apps.posts.recent import recent_posts, weeks_read
from apps.ranking import rank_timeline
from apps.ranking.algorithms import available, weights_of
from apps.second_level import older
from apps.timeline.models import TimelineEntry
from apps.timeline.sources import outbox
from apps.timeline.sources.outbox import LONG_OUTBOXES, SHORT_OUTBOXES
from feedcache.connections import timelines
from feedcache.read_through import Batch
from feedcache.structures import id_vector
from feedcache.structures.week_bucket import Bucket
from tests.support.factories import deliver, publish, seconds_ago

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("memcached")]


@pytest.fixture(autouse=True)
def _no_waiting(settings):
    settings.AUDIT_SAMPLE_RATE, settings.AUDIT_GRACE_SECONDS = 0, 0


@pytest.fixture
def posts(alice, bob):
    """Ten posts of alice's; everything that may be cached of them and of her is."""
    with seconds_ago(3600):
        found = [publish(alice, f"number {number}") for number in range(10)]
    deliver()
    load_everything(alice, bob)
    return found


def load_everything(alice, bob):
    CARDS.get_many([alice.pk, bob.pk], load_cards)
    for vectors in (SHORT_OUTBOXES, LONG_OUTBOXES):
        outbox._vectors(vectors, outbox.revisions_of([alice.pk]))
    recent_posts(user_by_id(alice.pk), Cursor(), 20)
    older.fill(bob.pk, None)
    algorithm = next(one for one in available().values() if one.prepared)
    rank_timeline.order(algorithm, user_by_id(bob.pk), weights_of(algorithm))


def compared(name, *keys):
    return caches()[name].compare(keys)


@pytest.mark.slow
def test_what_is_right_is_compared_and_nothing_is_found(posts, alice, bob):
    edit_post(alice, posts[3].pk, body="edited")
    delete_post(posts[4].pk, by=alice)
    deliver()
    load_everything(alice, bob)
    run, *_others = [auditor.run_once() for _ in range(4)]
    assert run.cached >= len(posts) + len(caches()) - 1
    assert not AuditFinding.objects.exists()
    for name, cache in caches().items():
        keys = [post.pk for post in posts] if cache.subject == Subject.POSTS else [alice.pk, bob.pk]
        number, wrong = cache.compare(keys)
        assert number, name
        assert not wrong, name


def falsify_post(posts, _alice, _bob):
    entry = load_cached_posts([posts[0].pk])[posts[0].pk]
    assert entry.content is not None
    CACHED_POSTS.set_many({posts[0].pk: replace(entry, content=replace(entry.content, body="x"))})
    return posts[0].pk


def show_a_post_that_is_not_there(posts, _alice, _bob):
    Post.objects.filter(pk=posts[0].pk).update(deleted_at=timezone.now())
    return posts[0].pk


def falsify_card(_posts, alice, _bob):
    card = load_cards([alice.pk])[alice.pk]
    CARDS.set_many({alice.pk: replace(card, display_name="Somebody else")})
    return alice.pk


def falsify_outbox(_posts, alice, _bob):
    vector = outbox.load(200, [alice.pk])[alice.pk]
    SHORT_OUTBOXES.set_many({alice.pk: replace(vector, entries=vector.entries[1:])})
    return alice.pk


def outbox_of_a_future(_posts, alice, _bob):
    vector = outbox.load(200, [alice.pk])[alice.pk]
    SHORT_OUTBOXES.set_many({alice.pk: replace(vector, revision=vector.revision + 5)})
    return alice.pk


def falsify_week(_posts, alice, _bob):
    weeks = weeks_read(users_by_id([alice.pk])[alice.pk].counts)
    buckets = zip(weeks, RECENT.read(alice.pk, weeks), strict=True)
    [(week, bucket)] = [(week, bucket) for week, bucket in buckets if bucket and bucket.values]
    RECENT.drop(alice.pk, [week])
    token = RECENT.begin(alice.pk)
    assert token is not None
    values = dict(list(bucket.values.items())[1:])
    RECENT.store(alice.pk, token, week, Bucket(bucket.revision, values))
    RECENT.end(alice.pk, token)
    return alice.pk


def lose_row_of_the_second_level(_posts, _alice, bob):
    row = TimelineEntry.objects.filter(reader_id=bob.pk).order_by("-post_id")[2]
    TimelineEntry.objects.filter(reader_id=bob.pk, post_id=row.post_id).delete()
    return bob.pk


def falsify_rank(posts, _alice, bob):
    timelines().zadd(rank_timeline.keys_of(bob.pk)[0], {str(posts[2].pk): 10**9})
    return bob.pk


FAULTS = [
    ("post", falsify_post),
    ("post", show_a_post_that_is_not_there),
    ("card", falsify_card),
    ("outbox", falsify_outbox),
    ("outbox", outbox_of_a_future),
    ("week", falsify_week),
    ("second level", lose_row_of_the_second_level),
    ("ranked", falsify_rank),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "falsify"), FAULTS, ids=[fault.__name__ for _name, fault in FAULTS]
)
def test_a_false_value_is_found_at_the_third_look_named_and_repaired(
    posts, alice, bob, name, falsify
):
    key = falsify(posts, alice, bob)
    assert compared(name, key) == (compared(name, key)[0], {key})
    assert sum(auditor.run_once().violations for _ in range(4)) >= 1
    finding = AuditFinding.objects.filter(kind=Kind.CACHED, details__cache=name).first()
    assert finding is not None
    assert finding.repaired_at
    assert "@" in finding_text(finding, finding.handles)
    assert compared(name, key)[1] == set()


@pytest.mark.slow
def test_a_value_behind_its_revision_is_no_mistake(posts, alice):
    for vectors in (SHORT_OUTBOXES, LONG_OUTBOXES):
        outbox._vectors(vectors, outbox.revisions_of([alice.pk]))
    batch = Batch()
    batch.append(SHORT_OUTBOXES, alice.pk, id_vector.forgotten(), start=b"")
    batch.execute()  # pages believe every short vector
    UserCounts.objects.filter(pk=alice.pk).update(outbox_revision=10_000)
    for name in ("outbox", "week"):
        number, wrong = compared(name, alice.pk)
        assert number
        assert not wrong


@pytest.mark.slow
def test_a_short_outbox_behind_its_row_is_found_and_forgotten(posts, alice):
    UserCounts.objects.filter(pk=alice.pk).update(outbox_revision=10_000)
    assert compared("outbox", alice.pk)[1] == {alice.pk}
    caches()["outbox"].forget(alice.pk)
    assert not compared("outbox", alice.pk)[1]
    assert outbox.ids_of_authors([alice.pk], Cursor(), 20) == [post.pk for post in posts[::-1]]
