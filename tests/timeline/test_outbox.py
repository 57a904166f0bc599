"""Outbox vectors at a revision that was read from PostgreSQL: always what it says, mostly without asking it further."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.moderation.actions import suspend_user
from apps.pagination import Cursor
from apps.posts.actions import publish as actions
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.store import Changed
from apps.timeline.home import home_timeline
from apps.timeline.publishing import undo_repost
from apps.timeline.sources import outbox, sql
from apps.timeline.sources.outbox import LONG_OUTBOXES, SHORT_OUTBOXES, Outboxes
from feedcache.memcached_tiers import Layer, tiers
from feedcache.read_through import write_together
from feedcache.structures.id_vector import IdVector
from tests.support.factories import (
    deliver,
    delivered,
    make_user,
    moderator,
    publish,
    published,
    repost,
)
from tests.support.faults import dead_memcached
from tests.support.services import running
from tests.support.threads import together
from tests.timeline.outboxes import crowd, follow_all, inside, truth, write

pytestmark = pytest.mark.django_db(transaction=True)  # vectors are written after a commit

ALL = 10_000


def add(new):
    """What a publication does with the outbox."""
    transaction.on_commit(lambda: write_together(outbox.additions(new)))


@pytest.fixture(autouse=True)
def _memcached():
    if not running().memcached:
        pytest.skip("no memcached on this machine")


@pytest.fixture
def levels(monkeypatch):
    """Where ids came from since the list was cleared: short, long, or PostgreSQL below both."""
    asked, get_many, open_ids = [], Outboxes.get_many, sql.open_ids

    def counted(outboxes, *args, **options):
        asked.append({200: "short", 2000: "long"}[outboxes.length])
        return get_many(outboxes, *args, **options)

    def counted_sql(*args, **options):
        asked.append("sql")
        return open_ids(*args, **options)

    monkeypatch.setattr(Outboxes, "get_many", counted)
    monkeypatch.setattr(sql, "open_ids", counted_sql)
    return asked


def revision_of(author):
    return outbox.revisions_of([author.pk])[author.pk]


def read(author, cursor=None, count=ALL, *, replies=True):
    ids, _number = outbox.ids_of_author(
        author.pk, revision_of(author), cursor or Cursor(), count, replies=replies
    )
    return ids


def vector_of(author, outboxes=SHORT_OUTBOXES):
    """The vector in the cache when it is at the author's revision."""
    accept = outbox._accepting({author.pk: revision_of(author)})
    vector = outboxes.peek_many([author.pk]).get(author.pk)
    return vector if vector is not None and accept(author.pk, vector) else None


def state(vector):
    return vector.ids.tolist(), vector.complete


def queries(work):
    with CaptureQueriesContext(connection) as captured:
        work()
    return len(captured)


def forget(*authors):
    for outboxes in (SHORT_OUTBOXES, LONG_OUTBOXES):
        outboxes.delete_many([one.pk for one in authors])


def plant(author, data):
    """Bytes in the place of both vectors."""
    for outboxes in (SHORT_OUTBOXES, LONG_OUTBOXES):
        spoiled = replace(outboxes, encode=lambda _vector: data)
        spoiled.set_many({author.pk: IdVector.of([], revision=0, complete=True)})


# --- two lengths ---------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize(("ascending", "replies"), [(False, True), (True, False)])
def test_pages_come_from_the_short_vector_then_the_long_one_then_postgresql(
    levels, ascending, replies
):
    alice = make_user("alice")
    root = publish(make_user())
    ids = write(alice, 2_500, reply_to=root)[::-1]
    revision, limit = revision_of(alice), 40

    def page(cursor):
        levels.clear()
        made = queries(
            lambda: seen.extend(
                outbox.ids_of_author(alice.pk, revision, cursor, limit, replies=replies)[0]
            )
        )
        return levels[-1], made

    seen: list[int] = []
    page(Cursor(max_id=ids[1_000]))  # both vectors are made
    seen.clear()
    wanted = truth([alice.pk], replies=replies)
    if ascending:
        wanted.reverse()
    cursor = Cursor(min_id=0) if ascending else Cursor()
    while len(seen) < len(wanted):
        before = len(seen)
        level, made = page(cursor)
        lowest = ids.index(min(seen[before:]))
        # upwards a vector must reach down to the start of the page, downwards to its end
        position = ids.index(cursor.min_id) if ascending and cursor.min_id else lowest
        if cursor.min_id == 0:
            position = 2_500
        expected = "short" if position < 200 else "long" if position < 2_000 else "sql"
        assert (level, made) == (expected, int(expected == "sql"))
        cursor = cursor.beyond(seen[-1])
    assert seen == wanted


def test_an_author_of_few_posts_needs_neither_the_long_vector_nor_postgresql(levels):
    alice = make_user("alice")
    ids = write(alice, 200)[::-1]
    assert read(alice) == ids
    assert levels == ["short"]
    revision = revision_of(alice)
    assert queries(lambda: outbox.ids_of_author(alice.pk, revision, Cursor(), ALL)) == 0
    assert outbox.ids_of_author(alice.pk, revision, Cursor(), 20) == (ids[:20], 200)
    assert state(vector_of(alice)) == (ids, True)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "outboxes"), [(201, SHORT_OUTBOXES), (2_001, LONG_OUTBOXES)])
def test_a_vector_that_is_full_does_not_say_that_it_is_complete(number, outboxes):
    alice = make_user("alice")
    ids = write(alice, number)[::-1]
    assert read(alice) == ids
    assert state(vector_of(alice, outboxes)) == (ids[: number - 1], False)
    assert outbox.ids_of_author(alice.pk, revision_of(alice), Cursor(), 20) == (ids[:20], None)


# --- publishing and deleting ---------------------------------------------------------------------


def test_publishing_and_deleting_keep_both_vectors_without_a_query(django_assert_num_queries):
    alice = make_user("alice")
    write(alice, 250)
    read(alice)
    post = published(alice)
    answer = published(alice, reply_to_id=publish(make_user()).pk)
    with django_assert_num_queries(0):
        add(post)
        add(answer)
    ids = truth([alice.pk])
    assert state(vector_of(alice)) == (ids[:202], False)
    assert state(vector_of(alice, LONG_OUTBOXES)) == (ids, True)
    assert read(alice, replies=False) == truth([alice.pk], replies=False)
    gone = delete_post(ids[100], by=alice)
    assert queries(lambda: outbox.remove(gone)) == 0
    assert state(vector_of(alice)) == ([*ids[:100], *ids[101:202]], False)
    assert state(vector_of(alice, LONG_OUTBOXES)) == (truth([alice.pk]), True)


def test_deleting_below_the_end_of_a_vector_leaves_its_ids():
    alice = make_user("alice")
    ids = write(alice, 250)[::-1]
    read(alice)
    outbox.remove(delete_post(ids[220], by=alice))
    assert state(vector_of(alice)) == (ids[:200], False)
    assert state(vector_of(alice, LONG_OUTBOXES)) == ([*ids[:220], *ids[221:]], True)


def test_a_complete_vector_stays_so_when_it_grows_over_its_length():
    alice = make_user("alice")
    ids = write(alice, 200)[::-1]
    read(alice)
    new = published(alice)
    add(new)
    assert state(vector_of(alice)) == ([new.post.pk, *ids], True)
    outbox.remove(delete_post(new.post.pk, by=alice))
    assert state(vector_of(alice)) == (ids, True)
    assert read(alice) == ids


@pytest.mark.parametrize("order", [[0, 1], [1, 0], [1, 0, 1], [0], [1], [0, 0, 1, 1], []])
def test_changes_that_arrive_in_any_order_or_not_at_all_never_show(order):
    alice = make_user("alice")
    kept = publish(alice)
    read(alice)
    changes = [published(alice), published(alice)]
    for number in order:
        add(changes[number])
    fits = vector_of(alice) is not None
    assert fits == ({*order} == {0, 1})
    assert read(alice) == [changes[1].post.pk, changes[0].post.pk, kept.pk]
    changes = [delete_post(kept.pk, by=alice), delete_post(changes[0].post.pk, by=alice)]
    for number in order:
        outbox.remove(changes[number])
    assert (vector_of(alice) is not None) == fits
    assert read(alice) == truth([alice.pk])


def test_a_deletion_that_arrives_before_the_publication_it_follows():
    alice = make_user("alice")
    kept = publish(alice)
    read(alice)
    new = published(alice)
    gone = delete_post(new.post.pk, by=alice)
    outbox.remove(gone)
    add(new)
    assert read(alice) == [kept.pk]


@pytest.mark.parametrize("arrives", ["before the vector is stored", "after it", "never"])
def test_a_post_published_while_a_vector_is_made_is_not_lost(monkeypatch, arrives):
    alice = make_user("alice")
    first = publish(alice)
    load = outbox.load
    made: list[Changed] = []

    def late(length, author_ids):
        loaded = load(length, author_ids)
        if not made:  # the rows have been read, the vector is not stored yet
            made.append(published(alice))
            if arrives == "before the vector is stored":
                add(made[0])
        return loaded

    monkeypatch.setattr(outbox, "load", late)
    assert read(alice) == [first.pk]
    if arrives == "after it":
        add(made[0])
        assert vector_of(alice) is not None
    assert read(alice) == [made[0].post.pk, first.pk]


@pytest.mark.slow
def test_concurrent_publications_and_deletions_lose_no_id():
    alice = make_user("alice")
    write(alice, 195)
    read(alice)

    def live(index):
        for number in range(8):
            new = published(alice, f"{index} {number}")
            post = new.post
            add(new)
            if number % 3 == 0:
                outbox.remove(delete_post(post.pk, by=alice))
            assert post.pk in read(alice) or number % 3 == 0

    together(4, live)
    assert read(alice) == truth([alice.pk])
    assert read(alice) == truth([alice.pk])  # and from the cache


def test_a_rollback_leaves_no_trace():
    alice = make_user("alice")
    first = publish(alice)
    for outboxes_are_warm in (False, True):
        with transaction.atomic():
            new = published(alice)
            add(new)
            assert read(alice) == [new.post.pk, first.pk]
            transaction.set_rollback(True)
        assert (vector_of(alice) is not None) == outboxes_are_warm
        assert read(alice) == [first.pk]


def test_what_a_transaction_reads_is_for_itself():
    alice = make_user("alice")
    with transaction.atomic():
        post = publish(alice)
        assert read(alice) == [post.pk]
    assert SHORT_OUTBOXES.peek_many([alice.pk]) == {}


def test_restricted_posts_neither_enter_nor_move_the_revision():
    alice, bob = make_user("alice"), make_user("bob")
    open_ids = [publish(alice).pk, publish(alice, visibility="unlisted").pk]
    read(alice)
    before = revision_of(alice)
    hidden = [published(alice, "to @bob", visibility=one) for one in ("followers", "mentioned")]
    for post in hidden:
        add(post)
    outbox.remove(delete_post(hidden[0].post.pk, by=alice))
    deliver()
    assert revision_of(alice) == before
    assert state(vector_of(alice)) == (open_ids[::-1], True)
    assert outbox.ids_of_authors([alice.pk, bob.pk], Cursor(), ALL) == open_ids[::-1]


def test_a_repost_and_its_withdrawal_move_the_outbox():
    alice, bob = make_user("alice"), make_user("bob")
    source = publish(bob)
    own = publish(alice)
    read(alice)
    wrapper = repost(alice, source.pk)
    assert read(alice) == [wrapper.pk, own.pk]
    add(actions.repost(alice, source.pk))  # it is there already: nothing is entered twice
    assert read(alice) == [wrapper.pk, own.pk]
    undo_repost(alice, source.pk)
    assert read(alice) == [own.pk]


def test_the_workers_leave_warm_vectors_whatever_the_request_did():
    alice = make_user("alice")
    write(alice, 250)
    deliver()
    forget(alice)
    post = delivered(alice)
    assert vector_of(alice) is not None
    assert vector_of(alice, LONG_OUTBOXES) is None  # nobody reads that far
    read(alice)
    delete_post(post.pk, by=alice)
    delivered(alice)
    for outboxes in (SHORT_OUTBOXES, LONG_OUTBOXES):
        assert state(vector_of(alice, outboxes))[0] == truth([alice.pk])[: outboxes.length]


def test_the_same_idempotency_key_enters_a_post_once():
    alice = make_user("alice")
    post = publish(alice, idempotency_key="k")
    read(alice)
    again = published(alice, idempotency_key="k")
    assert (again.post, again.revision, again.content) == (post, None, None)
    add(again)
    assert read(alice) == [post.pk]
    assert vector_of(alice) is not None


@pytest.mark.parametrize("by", ["the request", "a worker"])
def test_an_edit_that_moves_the_revision_keeps_the_ids(by):
    alice = make_user("alice")
    write(alice, 210)
    post = publish(alice)
    ids = read(alice)
    edited = edit_post(alice, post.pk, body="Better.")
    assert vector_of(alice) is None
    if by == "the request":
        outbox.advance(edited)
    else:
        deliver()
    assert state(vector_of(alice)) == (ids[:200], False)
    assert state(vector_of(alice, LONG_OUTBOXES)) == (ids, True)


# --- what may go wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"\0" * 24, b"garbage!", b"\1\1\1\0\0\0\0\0" + b"\7" * 8])
def test_garbage_is_a_miss_and_is_written_over(data):
    alice = make_user("alice")
    ids = write(alice, 210)[::-1]
    plant(alice, data)
    add(published(alice))
    ids = truth([alice.pk])
    assert read(alice) == ids
    assert state(vector_of(alice)) == (ids[:200], False)
    assert state(vector_of(alice, LONG_OUTBOXES)) == (ids, True)


def test_without_memcached_postgresql_answers():
    alice = make_user("alice")
    ids = write(alice, 210)[::-1]
    with dead_memcached():
        assert read(alice) == ids
        new = published(alice)
        add(new)
        assert read(alice, count=5) == [new.post.pk, *ids[:4]]
    assert read(alice, count=5) == [new.post.pk, *ids[:4]]


def test_a_suspended_author_is_hidden_by_the_gate_alone():
    alice, bob = make_user("alice"), make_user("bob")
    follow_all(bob, [alice])
    post = publish(alice)
    suspend_user(alice, by=moderator(), reason="spam")
    assert read(alice) == [post.pk]
    assert home_timeline(bob, Cursor()).items == []


def test_an_author_without_posts_and_one_who_is_not_there():
    alice = make_user("alice")
    assert read(alice) == []
    assert state(vector_of(alice)) == ([], True)
    assert outbox.ids_of_authors([alice.pk, 10**6], Cursor(), 20) == []
    assert outbox.ids_of_authors([], Cursor(), 20) == []
    outbox.repair(10**6)


# --- many authors --------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_random_histories_read_from_vectors_are_what_postgresql_says(seed):
    """C22: vectors and SQL give the same ids; changes reach the cache late, twice, in any order or never."""
    chance = random.Random(seed)
    authors, reader = [make_user() for _ in range(3)], make_user()
    follow_all(reader, authors[:2])
    write(authors[0], 230)
    late: list[tuple[Callable[[Changed], None], Changed]] = []
    for _step in range(60):
        author = chance.choice([*authors, reader])
        mine = truth([author.pk])
        if chance.random() < 0.7 or not mine:
            visibility = chance.choice(["public", "public", "unlisted", "followers"])
            reply_to = chance.choice([None, *mine[:1]])
            late.append((add, published(author, visibility=visibility, reply_to_id=reply_to)))
        else:
            late.append((outbox.remove, delete_post(chance.choice(mine[:20]), by=author)))
        for change, changed in chance.sample(late, min(len(late), chance.randrange(3))):
            change(changed)
        if chance.random() < 0.1:
            outbox.repair(author.pk)
        if chance.random() < 0.05:
            forget(*authors)
        some = chance.sample(authors, 2)
        ids = truth([one.pk for one in some])
        bounds = [chance.choice([None, *ids[:30], *ids[-9:]]) for _ in range(2)]
        upwards = chance.random() < 0.3
        cursor = Cursor(max_id=bounds[0], **{"min_id" if upwards else "since_id": bounds[1]})
        count = chance.choice([1, 5, 40, ALL])
        revisions = outbox.revisions_of([one.pk for one in some])
        vectors = outbox._vectors(SHORT_OUTBOXES, revisions)
        found, _vectors = outbox._read(vectors, cursor, count)
        assert found == inside(ids, cursor, count)
        assert found == sql.open_ids([one.pk for one in some], cursor, count)
        home = truth([reader.pk, *(one.pk for one in authors[:2])])
        assert outbox.newest_ids_of_followees(reader.pk, 25) == home[:25]
        assert outbox.newest_ids_of_followees(reader.pk, ALL) == home


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("number", [3, outbox.GROUP_SIZE - 1])  # the reader is in the group too
def test_a_warm_rebuild_of_one_group_is_one_query_however_many_are_followed(number):
    authors, reader = crowd(number), make_user()
    follow_all(reader, authors)
    for author in authors[:40]:
        write(author, 3, start=author.pk % 7)
    wanted = truth([one.pk for one in authors])[:80]
    assert (
        queries(lambda: outbox.newest_ids_of_followees(reader.pk, 80)) == 2
    )  # revisions, all vectors
    found = []
    assert queries(lambda: found.extend(outbox.newest_ids_of_followees(reader.pk, 80))) == 1
    assert found == wanted


def test_a_rebuild_asks_the_long_vector_only_of_those_who_need_it(levels):
    authors, reader = crowd(5), make_user()
    follow_all(reader, authors)
    write(authors[0], 700)
    for author in authors[1:]:
        write(author, 220, start=100)
    ids = truth([one.pk for one in authors])
    for count in (100, 800, ALL):
        levels.clear()
        assert outbox.newest_ids_of_followees(reader.pk, count) == ids[:count]
    assert levels == ["short", "long"]


def test_a_reader_sees_themselves():
    alice = make_user("alice")
    post = publish(alice)
    assert outbox.newest_ids_of_followees(alice.pk, 800) == [post.pk]


@pytest.mark.parametrize(
    ("number", "groups"), [(500, 1), (501, 2), pytest.param(1_001, 3, marks=pytest.mark.long)]
)
def test_the_vectors_of_a_group_are_one_multi_get(monkeypatch, number, groups):
    authors = crowd(number)
    revisions = outbox.revisions_of([one.pk for one in authors])
    outbox.ids_of_authors(revisions, Cursor(), 20)
    asked, ask_layer = [], Layer.ask

    def counted(layer, keys):
        asked.append((layer.name, len(keys)))
        return ask_layer(layer, keys)

    monkeypatch.setattr(Layer, "ask", counted)
    assert queries(lambda: outbox.ids_of_authors(revisions, Cursor(), 20)) == 0
    first = tiers().groups[0] if tiers().groups else tiers().main
    assert [name for name, _keys in asked] == [first.name] * groups
    assert sum(keys for _name, keys in asked) == number
