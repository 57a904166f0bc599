"""Pages with pulled authors believe short vectors without their author's row (decision 0172): no SQL, and right."""

import random
import re
from contextlib import suppress
from itertools import combinations, permutations, product

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.queries import user_by_id
from apps.pagination import Cursor
from apps.posts.actions.drafts import Draft
from apps.timeline import publishing
from apps.timeline.fanout import switch
from apps.timeline.home import home_timeline
from apps.timeline.models import Policy
from apps.timeline.sources import outbox
from apps.timeline.sources.outbox import LONG_OUTBOXES, SHORT_OUTBOXES
from feedcache import memcached_tiers
from feedcache.memcached_node import Kind
from feedcache.memcached_tiers import tiers, use_topology
from feedcache.read_through import Batch
from feedcache.structures import id_vector
from feedcache.topology import Node, Topology
from tests.feedcache.pools import started
from tests.feedcache.relay import Relay
from tests.support.factories import deliver, make_user
from tests.support.factories import publish as publish_alone
from tests.support.faults import dead_memcached, dead_redis
from tests.support.memory import flush, told
from tests.support.threads import together
from tests.support.waiting import wait_until
from tests.timeline.outboxes import crowd, follow_all, truth, write
from tools.bench.site import trips

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("memcached")]

LABELS = ("main", "backup", "l1-0", "l1-1")
PAGE = 20
LOOKS = 12  # each at a group of L1 that is chosen at random


@pytest.fixture
def alice():
    author = make_user("alice")
    write(author, 230)
    return author


@pytest.fixture
def relays(memcached):
    """Main, Backup and two groups of L1, each behind a relay."""
    before = tiers().topology
    with started(LABELS) as servers:
        made = {
            label: Relay(server.address, server.socket.with_suffix(".relay"))
            for label, server in servers.items()
        }
        main, backup, *groups = ((Node(label, made[label].address, 64),) for label in LABELS)
        use_topology(Topology(before.version, main, backup, tuple(groups), epoch=before.epoch))
        assert tiers().ping()
        yield made
        use_topology(before)
        for relay in made.values():
            relay.close()


def layers():
    cache = tiers()
    return (cache.main, cache.backup, *cache.groups)


def publish(author):
    return publishing.publish(author, Draft(body="Hello.")).post


def page(*authors, count=PAGE):
    """Of short vectors alone, unless `count` is larger: what lies below is at their revision, or from PostgreSQL."""
    return outbox.ids_of_authors([one.pk for one in authors], Cursor(), count)


def pages(*authors):
    """What is read now, whichever group of L1 is asked."""
    found = [page(*authors) for _look in range(LOOKS)]
    assert found == found[:1] * LOOKS
    return found[0]


def newest(*authors):
    """What PostgreSQL says of a page."""
    return truth([one.pk for one in authors])[:PAGE]


def queries(work):
    with CaptureQueriesContext(connection) as captured:
        work()
    return len(captured)


def name_of(author):
    return SHORT_OUTBOXES.name_of(author.pk, tiers()).encode()


def lose(layer, author):
    """A layer has evicted a vector."""
    node = layer.slot_of(name_of(author)).node
    generation = node.current()
    if generation is None:
        return
    with suppress(FileNotFoundError):  # it is cut off
        told(node.url, b"delete %s:%s\r\n" % (node.head(generation), name_of(author)))


def append(author, data):
    """Append to the copies of the author's short vector."""
    batch = Batch()
    batch.append(SHORT_OUTBOXES, author.pk, data, start=b"")
    batch.execute()
    assert batch.has_appended


def lose_what_is_appended(monkeypatch, kind):
    """What is appended to these vectors gets lost."""
    append = Batch.append

    def lossy(batch, appended, *args, **options):
        if appended is not kind:
            append(batch, appended, *args, **options)

    monkeypatch.setattr(Batch, "append", lossy)


def leave_in(wanted, author):
    """Only these layers have the author's vector."""
    flush()
    assert tiers().ping()
    for layer in layers():
        item = memcached_tiers.make(
            Kind.VALUE, outbox.load(200, [author.pk])[author.pk].encode(), 60
        )
        if layer in wanted:
            layer.write(b"set", {name_of(author): item}, ttl_seconds=60)


def test_a_warm_page_asks_no_sql_also_after_publications_edits_and_deletions(alice):
    bob = make_user("bob")
    last = write(bob, 5)[-1]
    page(alice, bob)
    for act in (
        lambda: publish(alice),
        lambda: publishing.edit(bob, last, body="Better."),
        lambda: publishing.delete(last, by=bob),
        lambda: publish(bob),
    ):
        act()
        assert queries(lambda: page(alice, bob)) == 0
        assert page(alice, bob) == newest(alice, bob)


@pytest.mark.parametrize("is_lost", [False, True])
def test_the_long_vector_is_at_the_revision_of_the_short_one(alice, monkeypatch, is_lost):
    """Also when it has missed a change."""
    assert page(alice, count=250) == truth([alice.pk])
    if is_lost:
        lose_what_is_appended(monkeypatch, LONG_OUTBOXES)
    publishing.delete(page(alice, count=230)[-1], by=alice)
    assert queries(lambda: page(alice, count=220)) == is_lost
    assert page(alice, count=250) == truth([alice.pk])


def test_a_publication_waits_for_memcached_once_whatever_was_cached(alice):
    publish(alice)  # the first of a day is news for the author's card
    for act in (flush, lambda: page(alice)):
        act()
        assert tiers().ping()
        with trips.counted() as found:
            publish(alice)
        assert found.by_server[trips.MEMCACHED] == 1


@pytest.mark.long
@pytest.mark.parametrize("cached", ["nowhere", "in Main", "in Backup", "unknown everywhere"])
def test_a_reader_who_loaded_before_a_change_stores_nothing_old(alice, relays, monkeypatch, cached):
    """The change comes after the reader has read the rows, and is acknowledged before the reader stores anything."""
    load, made = outbox.load, []
    main, backup, *_groups = layers()
    leave_in({"in Main": [main], "in Backup": [backup]}.get(cached, []), alice)
    if cached == "unknown everywhere":
        outbox.forget(alice.pk)
    elif cached != "nowhere":
        append(alice, id_vector.forgotten())

    def late(length, author_ids):
        loaded = load(length, author_ids)
        if not made:
            made.append(publish(alice).pk)
        return loaded

    monkeypatch.setattr(outbox, "load", late)
    page(alice)
    assert made
    assert pages(alice) == newest(alice)


ORDERS = list(permutations(range(len(LABELS))))
PARTS = [part for size in range(5) for part in combinations(range(len(LABELS)), size)]


@pytest.mark.parametrize("number", [24, pytest.param(96, marks=pytest.mark.long)])
def test_a_change_may_reach_the_layers_in_any_order(alice, relays, monkeypatch, number):
    """It is one round trip to all of them. Readers come in between, and refill what was evicted; none keeps the old."""
    send = memcached_tiers.send_appends

    def one_by_one(all_layers, appends):
        for place in order:
            page(alice)
            page(alice)
            send([all_layers[place]], appends)()
        page(alice)
        return lambda: None

    monkeypatch.setattr(memcached_tiers, "send_appends", one_by_one)
    for order, part in random.Random(number).sample(list(product(ORDERS, PARTS)), number):
        leave_in([layers()[place] for place in part], alice)
        publish(alice)
        assert [page(alice) for _look in range(6)] == [newest(alice)] * 6, (order, part)


@pytest.mark.slow
def test_two_publications_at_once_and_readers_beside_them(alice, relays):
    def live(index):
        for _number in range(6):
            if index % 2:
                post = publish(alice)
                assert post.pk in page(alice)
            else:
                lose(random.choice(layers()), alice)
                page(alice)

    together(4, live)
    assert pages(alice) == newest(alice)


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("label", LABELS)
def test_a_node_that_was_cut_off_comes_back_with_old_vectors_and_is_not_believed(
    alice, relays, label
):
    publish(
        alice
    )  # the first of a day changes the author's card, too: one more write that the node would miss
    before = pages(alice)
    relays[label].cut()
    post = publish(alice)
    assert pages(alice) == [post.pk, *before[:-1]]
    relays[label].join()
    wait_until(tiers().ping, "the node answers again")
    assert pages(alice) == [post.pk, *before[:-1]]


@pytest.mark.parametrize("away", [dead_redis, dead_memcached])
def test_without_redis_or_memcached_postgresql_decides(alice, away):
    page(alice)
    with away():
        assert queries(lambda: page(alice)) > 0
        post = publish(alice)
        assert page(alice)[0] == post.pk
    assert page(alice) == newest(alice)


def test_a_writer_who_died_before_the_caches_is_completed_by_its_event(alice, relays):
    pages(alice)
    new = publish_alone(alice)  # by the rows and the event alone
    assert new.pk not in page(alice)
    deliver()
    assert pages(alice) == newest(alice)


def test_a_repeated_request_of_a_writer_who_died_acknowledges_what_pages_show(alice, relays):
    pages(alice)
    new = publish_alone(alice, idempotency_key="k")
    publishing.publish(alice, Draft(body="Hello."), idempotency_key="k")
    assert pages(alice) == newest(alice)
    assert new.pk == page(alice)[0]


def test_what_is_too_large_to_grow_is_begun_anew(alice, relays):
    """Copies that nobody reads grow with every change; Memcached refuses items of a megabyte."""
    main, *_others = layers()
    item = memcached_tiers.make(Kind.VALUE, bytes(1024 * 1024 - 200), 60)
    main.write(b"set", {name_of(alice): item}, ttl_seconds=60)
    for _number in range(12):
        publish(alice)
    data = main.read([name_of(alice)]).items[name_of(alice)].data
    assert len(data) < 1_000
    assert id_vector.decode(data).is_unknown
    assert pages(alice) == newest(alice)


def test_more_changes_than_a_vector_takes_are_one_query(alice):
    page(alice)
    for revision in range(1, id_vector.MAX_CHANGES + 2):
        append(alice, id_vector.unchanged(revision=230 + revision))
    assert queries(lambda: page(alice)) == 1
    assert queries(lambda: page(alice)) == 0
    assert page(alice) == newest(alice)


@pytest.mark.long
def test_where_the_site_pulls_a_reader_of_more_than_a_thousand_gets_a_page(alice):
    reader, authors = make_user(), [alice, *crowd(1_001)]
    follow_all(reader, authors)
    switch.set_site_policy(Policy.PULL, by="a test")
    viewer = user_by_id(reader.pk)
    for _warm in range(2):
        home_timeline(viewer, Cursor())
    with CaptureQueriesContext(connection) as captured:
        items = home_timeline(viewer, Cursor()).items
    assert [item.id for item in items] == newest(alice)
    asked = "".join(query["sql"] for query in captured)  # whether likes are known is another matter
    assert not re.search("usercounts|followee|posts_post", asked)


class History:
    """What authors do, and what happens to the caches meanwhile."""

    def __init__(self, seed, relays):
        self.chance, self.relays = random.Random(seed), relays
        self.authors = [make_user() for _ in range(3)]
        write(self.authors[0], 230)
        self.acts = [self.publish] * 10 + [self.delete] * 3 + [self.edit] * 2
        self.acts += [self.die, self.repair, self.cut_or_join, self.cut_or_join]
        self.cut = None

    def step(self):
        self.chance.choice(self.acts)()
        if self.chance.random() < 0.4:
            lose(self.chance.choice(layers()), self.author())

    def author(self):
        return self.chance.choice(self.authors)

    def own(self):
        """An author, and a post of theirs."""
        author = self.author()
        return author, self.chance.choice(newest(author) or [publish(author).pk])

    def publish(self):
        publish(self.author())

    def delete(self):
        author, post_id = self.own()
        publishing.delete(post_id, by=author)

    def edit(self):
        author, post_id = self.own()
        publishing.edit(author, post_id, body=f"{self.chance.random()}")

    def die(self):
        """A writer dies before the caches; its event follows."""
        publish_alone(self.author())
        deliver()

    def repair(self):
        outbox.repair(self.author().pk)

    def cut_or_join(self):
        if self.cut:
            self.cut.join()
            self.cut = None
        else:
            self.cut = self.relays[self.chance.choice(LABELS)]
            self.cut.cut()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_random_histories_with_evictions_faults_and_deaths(relays, monkeypatch, seed):
    history, load = History(seed, relays), outbox.load

    def late(length, author_ids):
        loaded = load(length, author_ids)
        if history.chance.random() < 0.5:  # somebody publishes while a reader has old rows
            history.publish()
        return loaded

    for _step in range(60):
        history.step()
        some = history.chance.sample(history.authors, 2)
        with monkeypatch.context() as patch:
            patch.setattr(outbox, "load", late)
            page(*some)
        assert page(*some) == newest(*some)
