"""Posts, their counts and revisions on several real PostgreSQL servers, with the follows of their authors."""

import itertools
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

import apps.shards
from apps.accounts.models import UserCounts
from apps.accounts.queries import user_by_id
from apps.audit import checks as audit_checks
from apps.audit.auditor import run_once
from apps.audit.models import AuditFinding, Kind
from apps.engagement import reconcile
from apps.engagement.actions import bookmark_post, like_post, unlike_post
from apps.events.models import Event
from apps.graph.actions import follow_user
from apps.graph.management import shards
from apps.posts.actions.drafts import Draft
from apps.posts.cache import CACHED_POSTS, POST_COUNTS, load_cached_posts
from apps.posts.models import Mention, PendingPost, Post, PostCounts, Revision
from apps.posts.queries import visible_posts
from apps.timeline import publishing
from feedcache.connections import timelines
from feedcache.structures.counters.maintenance import invalidate
from tests.support.factories import deliver, make_user, publish
from tests.support.shards import (
    address,
    cut,
    partitions,
    quiet,
    slow_commit,
    split_and_spread,
)
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.clusters]
TABLES = [table.name for table in shards.POSTS]


@pytest.fixture
def site(_own_database, transactional_db, server, settings):
    """Follows and posts are split; half of the shards are on east."""
    settings.GRAPH_SHARDS = {name: address(server, name) for name in ("east", "west")}
    settings.RATE_LIMITS = {
        **settings.RATE_LIMITS, "follow": (100_000, 3600), "publish": (100_000, 3600)
    }  # fmt: skip
    apps.shards._Away.until = 0.0
    split_and_spread(settings, "--posts")


def number_of(user):
    [name] = partitions("SELECT FROM posts_post WHERE author_id = %s", [user.pk])
    return int(name.rpartition("_")[2])


def person(place, **fields):
    """An account whose posts lie there."""
    for _attempt in range(64):
        user = make_user(**fields)
        if (number_of(user) < 32) == (place == "local"):
            return user
    raise AssertionError(f"nobody lies on {place}")


def fresh(user):
    return user_by_id(user.pk)


def drifts():
    """Counts that differ from their rows, of posts and accounts."""
    report = reconcile.Report()
    for subject in reconcile.SUBJECTS:
        reconcile.reconcile_batch(subject, -1, report, fix=False, limit=10_000)
    return {key: tally.number for key, tally in report.tallies.items() if key[1] == "PostgreSQL"}


# --- split ----------------------------------------------------------------------------------------


def rows():
    return [sorted(model.objects.values_list()) for model in (Post, PostCounts, Revision)]


def foreign_keys_to_posts():
    with connection.cursor() as sql:
        sql.execute(
            "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND confrelid = 'posts_post'::regclass"
        )
        return sql.fetchone()[0]


def test_a_split_leaves_every_row_and_only_there_drops_foreign_keys(plain):
    ann, ben = make_user(), make_user()
    first = publish(ann, "One.")
    second = publish(ben, f"Two, for @{ann.handle}.", reply_to_id=first.pk)
    publishing.edit(ann, first.pk, body="One, and more.")
    publishing.repost(ben, first.pk)
    like_post(ben, first.pk)
    before = rows()
    assert [len(part) for part in before] == [3, 3, 1]
    assert foreign_keys_to_posts() > 10
    call_command("shards", "split")
    assert foreign_keys_to_posts() > 10
    call_command("shards", "split", "--posts")
    assert rows() == before
    assert foreign_keys_to_posts() == 0
    assert list(shards.problems()) == []
    publishing.edit(ann, first.pk, body="One, and still more.")
    assert Revision.objects.latest("pk").pk > before[2][0][0]
    publish(ann, "Three.", reply_to_id=second.pk)
    assert drifts() == {}
    with pytest.raises(CommandError, match="split already"):
        call_command("shards", "split", "--posts")


def test_posts_are_not_split_beside_ranges_of_follows(plain):
    call_command("shards", "split", "--range", "100,200")
    with pytest.raises(CommandError, match="not by ranges"):
        call_command("shards", "split", "--posts")


def test_an_authors_posts_lie_with_the_authors_follows(site):
    people = [make_user() for _ in range(30)]
    posts = [publish(user) for user in people]
    for user, post in zip(people, posts, strict=True):
        publishing.edit(user, post.pk, body="Changed.")
        follow_user(user, people[0] if user != people[0] else people[1])
    found = Counter()
    for table, owner in (
        ("graph_followee", "owner_id"), ("posts_post", "author_id"),
        ("posts_postcounts", "post_id >> 4 & 268435455"), ("posts_revision", "post_id >> 4 & 268435455"),
    ):  # fmt: skip
        with connection.cursor() as sql:
            sql.execute(f"SELECT {owner}, right(tableoid::regclass::text, 2) FROM {table}")
            found.update(sql.fetchall())
    assert set(found.values()) == {4}
    assert len(found) == 30
    assert len({number for _owner, number in found}) > 10


def test_rows_that_refer_to_nothing_are_found(site, capsys):
    post = publish(person("east"))
    Mention.objects.create(post_id=post.pk + 16, user_id=post.author_id)
    PostCounts.objects.filter(pk=post.pk).delete()
    with pytest.raises(SystemExit):
        call_command("shards", "check")
    printed = capsys.readouterr().out
    assert "1 rows of posts_mention name a post_id that is not in posts_post." in printed
    assert "1 posts have no row in posts_postcounts." in printed


# --- the site goes on -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "other"), [("east", "local"), ("local", "east"), ("east", "east")]
)
def test_people_write_read_and_react_across_servers(site, place, other):
    ann, ben = person(place), person(other)
    follow_user(ben, ann)
    post = publish(ann, f"For @{ben.handle} and all. #tag")
    restricted = publish(ann, "For followers.", visibility="followers")
    answer = publish(ben, "An answer.", reply_to_id=post.pk)
    quote = publish(ben, "Look.", quote_of_id=post.pk)
    repost = publishing.repost(ben, post.pk)
    assert publishing.repost(ben, post.pk).pk == repost.pk
    for _time in range(2):
        like_post(ben, post.pk)
        bookmark_post(ben, repost.pk)
    publishing.edit(ann, post.pk, body="Changed for all.")
    deliver()
    counts = PostCounts.objects.get(pk=post.pk)
    assert (counts.replies, counts.reposts, counts.quotes) == (1, 1, 1)
    assert (counts.likes, counts.bookmarks) == (1, 1)
    assert drifts() == {}

    reader, visitor = Client(), Client()
    reader.force_login(ben)
    timelines().flushdb()  # home is built again from the rows
    home = reader.get("/").text
    assert "Changed for all." in home
    assert "For followers." in home
    thread = visitor.get(f"/@{ann.handle}/{post.pk}").text
    assert "Changed for all." in thread
    assert "An answer." in thread
    assert "Changed for all." in visitor.get(f"/@{ben.handle}/{answer.pk}").text
    assert "Changed for all." in visitor.get(f"/@{ben.handle}").text  # by the repost
    assert "For followers." not in visitor.get(f"/@{ann.handle}").text
    assert set(visible_posts(ben.pk, [restricted.pk, quote.pk]).posts) == {
        restricted.pk, quote.pk, post.pk
    }  # fmt: skip

    unlike_post(ben, post.pk)
    publishing.undo_repost(ben, post.pk)
    publishing.delete(answer.pk, by=ben)
    deliver()
    assert drifts() == {}
    counts = PostCounts.objects.get(pk=post.pk)
    assert (counts.likes, counts.reposts, counts.replies) == (0, 0, 0)
    publishing.delete(post.pk, by=ann)
    assert not Revision.objects.exists()
    assert visitor.get(f"/@{ann.handle}/{post.pk}").status_code == 404
    assert list(shards.problems()) == []
    assert not PendingPost.objects.exists()


def test_a_crowd_that_likes_and_answers_at_once_is_counted(site):
    """Another server refuses to change what is newer than the transaction's snapshot there."""
    post = publish(person("east"))
    people = [person("east") for _ in range(2)] + [make_user() for _ in range(6)]

    def react(user):
        try:
            like_post(user, post.pk)
            publish(user, "Yes.", reply_to_id=post.pk)
            answer = publish(user, "No.", reply_to_id=post.pk)
            publishing.delete(answer.pk, by=user)
            publishing.repost(user, post.pk)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(react, people))
    counts = PostCounts.objects.get(pk=post.pk)
    assert (counts.likes, counts.replies, counts.reposts) == (8, 8, 8)
    assert drifts() == {}


def test_a_count_that_is_being_written_is_no_drift(site):
    """Between the commit on another server and the one here."""
    ann = person("local")
    post = publish(ann)
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"

    def compare():
        report = reconcile.Report()
        try:
            reconcile.reconcile_batch(reconcile.USERS, ann.pk - 1, report, fix=True, limit=1)
        finally:
            connections.close_all()
        return report.drifts, report.repaired

    with ThreadPoolExecutor(1) as pool, closing(shards.connect()) as other:
        with transaction.atomic():
            UserCounts.objects.select_for_update().get(pk=ann.pk)
            other.execute("UPDATE posts_post SET deleted_at = now() WHERE id = %s", [post.pk])
            comparing = pool.submit(compare)
            wait_until(
                lambda: other.execute(waits).fetchone() == (1,), "the comparison waits for the lock"
            )
            UserCounts.objects.filter(pk=ann.pk).update(posts=0)
        assert comparing.result(30) == (0, 0)
    UserCounts.objects.filter(pk=ann.pk).update(posts=7)
    assert compare() == (1, 1)


def test_one_post_of_an_author_is_written_at_a_time(site):
    ann = person("east")

    def write(_number):
        try:
            return publish(fresh(ann)).pk
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        ids = list(pool.map(write, range(18)))
    assert len(set(ids)) == 18
    assert Post.objects.filter(author=ann).count() == 18
    assert fresh(ann).counts.posts == 18


# --- which shards a statement asks ----------------------------------------------------------------


def asked(work):
    """The numbers of the shards that the statements of some work ask, follows and posts."""
    with CaptureQueriesContext(connection) as captured:
        work()
    numbers = set()
    for sql in (query["sql"] for query in captured):
        verb = sql.lstrip(" (\n").partition(" ")[0].partition("\n")[0]
        if verb in {"SELECT", "WITH", "INSERT", "UPDATE", "DELETE"}:
            numbers |= {int(name.rpartition("_")[2]) for name in partitions(sql)}
    return numbers


@pytest.mark.parametrize("place", ["local", "east"])
def test_a_profile_asks_one_shard_for_posts_and_people(site, place):
    ann, ben = person(place), person("local")
    follow_user(ben, ann)
    posts = [publish(ann, f"Number {number}.") for number in range(3)]
    publish(ann, "For followers.", visibility="followers")
    publishing.edit(ann, posts[0].pk, body="Changed.")
    deliver()
    visitor, reader = Client(), Client()
    reader.force_login(ben)
    for path in ("", "?tab=replies", "/followers", "/following"):
        timelines().flushdb()
        assert asked(lambda path=path: visitor.get(f"/@{ann.handle}{path}")) <= {number_of(ann)}
        answer = []
        numbers = asked(
            lambda path=path, answer=answer: answer.append(reader.get(f"/@{ann.handle}{path}"))
        )
        assert answer[0].status_code == 200
        assert numbers <= {number_of(ann), number_of(ben)}, path
    # the caches of this process and of Memcached aside
    loaded = asked(lambda: load_cached_posts([post.pk for post in posts]))
    assert loaded == {number_of(ann)}


def test_writing_and_reacting_ask_the_shards_of_those_concerned(site):
    ann, ben = person("east"), person("local")
    follow_user(ben, ann)
    post = publish(ann, "To react to.")
    both = {number_of(ann), number_of(ben)}
    assert asked(lambda: publish(ann, "Alone.")) <= {
        number_of(ann)
    }  # a plan of INSERT names no shard
    for act in (
        lambda: publish(ben, "An answer.", reply_to_id=post.pk),
        lambda: publishing.repost(ben, post.pk),
        lambda: like_post(ben, post.pk),
        lambda: publishing.undo_repost(ben, post.pk),
        lambda: publishing.edit(ann, post.pk, body="Changed."),
        lambda: publishing.delete(post.pk, by=ann),
        lambda: visible_posts(ben.pk, [post.pk]),
    ):
        numbers = asked(act)
        assert numbers
        assert numbers <= both
    publish(ann, "To deliver.")
    assert number_of(ann) in asked(deliver)


# --- move -----------------------------------------------------------------------------------------


class Author:
    """Publishes, edits and deletes without a pause, likes what others wrote, and knows what has to be there."""

    def __init__(self, user, others):
        self.user, self.others = user, others
        self.bodies, self.deleted, self.liked, self.changes = {}, set(), set(), 0

    def act(self, stop):
        chance = random.Random(self.user.pk)
        try:
            for number in itertools.count():
                if stop.is_set():
                    return
                self._act(chance, f"{self.user.handle} {number}")
                self.changes += 1
        finally:
            connections.close_all()

    def wait_for_more(self):
        wanted = self.changes + 3
        wait_until(lambda: self.changes >= wanted, "people go on changing")

    def _act(self, chance, text):
        kind = (
            chance.choice(["publish", "publish", "edit", "delete", "like"])
            if self.bodies
            else "publish"
        )
        one = chance.choice(sorted(self.bodies)) if self.bodies else 0
        if kind == "publish":
            self.bodies[publishing.publish(fresh(self.user), Draft(body=text)).post.pk] = text
        elif kind == "edit":
            publishing.edit(self.user, one, body=text)
            self.bodies[one] = text
        elif kind == "delete":
            publishing.delete(one, by=self.user)
            del self.bodies[one]
            self.deleted.add(one)
        else:
            like_post(self.others[self.changes % len(self.others)], one)


@contextmanager
def busy(authors):
    stop = threading.Event()
    with ThreadPoolExecutor(len(authors)) as pool:
        workers = [pool.submit(author.act, stop) for author in authors]
        try:
            yield
        finally:
            stop.set()
        for worker in workers:
            worker.result(60)


def test_a_shard_is_moved_while_people_publish_edit_and_delete_and_nothing_is_lost(site):
    user = person("local")
    others = [make_user() for _ in range(3)]
    authors = [Author(user, others), Author(person("east"), others)]
    with busy(authors):
        for place in ("east", "west", "local", "west"):
            for author in authors:
                author.wait_for_more()
            list(shards.move([number_of(user)], place, report=quiet))
    assert set(places(number_of(user))) == {"west"}
    for author in authors:
        rows = dict(
            Post.objects.filter(author=author.user, deleted_at=None).values_list("pk", "body")
        )
        assert rows == author.bodies
        gone = Post.objects.filter(author=author.user).exclude(deleted_at=None)
        assert set(gone.values_list("pk", flat=True)) == author.deleted
        assert fresh(author.user).counts.posts == len(author.bodies)
    assert drifts() == {}
    assert list(shards.problems()) == []
    assert not PendingPost.objects.exists()


def places(number):
    with closing(shards.connect()) as session:
        return [shard.place for shard in shards.shards(session) if shard.number == number]


def test_posts_follow_where_follows_have_been_moved_before(plain, server, settings):
    """A site that was split by an earlier release: first follows, then posts; there, and back."""
    with connection.cursor() as sql:  # as migrations write it, not as a dump does
        sql.execute(
            "ALTER TABLE posts_post DROP CONSTRAINT source_of_repost_or_quote, ADD CONSTRAINT source_of_repost_or_quote"
            " CHECK (kind IN ('repost', 'quote') OR source_id IS NULL)"
        )
    settings.GRAPH_SHARDS = {"north": address(server, "north")}
    call_command("shards", "split")
    call_command("shards", "add", "north")
    ann = make_user()
    post = publish(ann)
    list(shards.move([3], "north", report=quiet))
    call_command("shards", "split", "--posts")
    assert sorted(places(3)) == ["local"] * 3 + ["north"] * 2
    assert len([size for size in shards.sizes() if size.number == 3]) == 2
    number = number_of(ann)
    list(shards.move(sorted({3, number}), "north", report=quiet))
    assert set(places(3)) == {"north"}
    list(shards.move([3], "local", report=quiet))
    assert set(places(3)) == {"local"}
    assert Post.objects.get(pk=post.pk).body == "Hello."
    assert list(shards.problems()) == []


# --- a crash between two commits ------------------------------------------------------------------


def audited(monkeypatch):
    monkeypatch.setattr(audit_checks, "INTERRUPTED_SECONDS", 0)
    run_once()
    return list(AuditFinding.objects.filter(kind=Kind.INTERRUPTED))


def crash(user, change):
    """The server of the user's posts commits a change, the site's database does not."""
    with slow_commit("east", f"posts_post_{number_of(user):02}") as remote:
        cut(change, remote)


def test_a_publication_that_was_cut_in_two_is_taken_back(site, monkeypatch):
    ann, ben = person("east"), person("local")
    earlier = publish(ann)
    target = publish(ben)
    crash(ann, lambda: publish(ann, "Half. #tag", reply_to_id=target.pk))
    [pending] = PendingPost.objects.all()
    assert Post.objects.get(pk=pending.post_id).body == "Half. #tag"
    assert not Event.objects.filter(payload__post_id=pending.post_id).exists()
    again = publish(fresh(ann), "Half. #tag", reply_to_id=target.pk)
    assert again.pk > pending.post_id
    [finding] = audited(monkeypatch)
    assert (finding.post_id, bool(finding.repaired_at)) == (pending.post_id, True)
    left = Post.objects.filter(author=ann, deleted_at=None).values_list("pk", flat=True)
    assert set(left) == {earlier.pk, again.pk}
    deliver()
    assert drifts() == {}
    assert Client().get(f"/@{ann.handle}/{pending.post_id}").status_code == 404
    assert not PendingPost.objects.exists()
    assert len(audited(monkeypatch)) == 1


def test_a_repost_that_was_cut_in_two_is_completed(site, monkeypatch):
    ann, ben = person("east"), person("local")
    follow_user(ben, ann)
    post = publish(person("local"), "To be shared.")
    crash(ann, lambda: publishing.repost(ann, post.pk))
    half = publishing.repost(fresh(ann), post.pk)  # finds it
    [_finding] = audited(monkeypatch)
    assert Event.objects.filter(name="post_published", payload__post_id=half.pk).exists()
    deliver()
    assert PostCounts.objects.get(pk=post.pk).reposts == 1
    assert drifts() == {}
    reader = Client()
    reader.force_login(ben)
    assert "To be shared." in reader.get("/").text
    assert publish(fresh(ann)).pk > half.pk


@pytest.mark.parametrize("change", ["edit", "delete"])
def test_an_edit_or_a_deletion_that_was_cut_in_two_is_finished(site, monkeypatch, change):
    ann = person("east")
    post = publish(ann, "As it was.")
    visitor = Client()
    path = f"/@{ann.handle}/{post.pk}"
    assert "As it was." in visitor.get(path).text
    if change == "edit":
        crash(ann, lambda: publishing.edit(ann, post.pk, body="As it is."))
    else:
        crash(ann, lambda: publishing.delete(post.pk, by=ann))
    assert "As it was." in visitor.get(path).text  # the caches have heard of nothing
    revision = fresh(ann).counts.outbox_revision
    [finding] = audited(monkeypatch)
    assert finding.repaired_at
    assert fresh(ann).counts.outbox_revision == revision + 1
    answer = visitor.get(path)
    assert (answer.status_code, "As it is." in answer.text) == (
        (200, True) if change == "edit" else (404, False)
    )
    name = "post_edited" if change == "edit" else "post_deleted"
    assert Event.objects.filter(name=name, payload__post_id=post.pk).exists()
    deliver()
    assert drifts() == {}
    assert not PendingPost.objects.exists()


def test_a_fault_within_a_change_leaves_nothing_in_the_journal(site, monkeypatch):
    ann = person("east")
    post = publish(ann)
    with monkeypatch.context() as between:
        between.setattr("apps.posts.actions.publish.cache_published", lambda *_given: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            publish(ann, "Never.")
    with monkeypatch.context() as between:
        between.setattr("apps.posts.actions.edit.rewrite_tags", lambda *_given, **_more: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            publishing.edit(ann, post.pk, body="Never.")
    assert list(Post.objects.filter(author=ann).values_list("body", flat=True)) == ["Hello."]
    assert audited(monkeypatch) == []
    assert not PendingPost.objects.exists()


def test_posts_in_the_sites_own_database_have_no_journal(site):
    ann = person("local")
    with CaptureQueriesContext(connection) as captured:
        post = publish(ann)
        publishing.edit(ann, post.pk, body="Changed.")
        publishing.delete(post.pk, by=ann)
    assert not any("INSERT INTO posts_pendingpost" in query["sql"] for query in captured)


# --- a server that is down ------------------------------------------------------------------------


def test_a_server_that_is_down_takes_only_its_own_authors_with_it(site, server):
    ann, ben, reader = person("east"), person("local"), person("local")
    for author in (ann, ben):
        follow_user(reader, author)
    hers = publish(ann, "From the east.")
    post = publish(ben, "From here.")
    publish(ann, "An answer from the east.", reply_to_id=post.pk)
    publish(reader, "An answer from here.", reply_to_id=post.pk)
    deliver()
    page, ids = Client(), list(Post.objects.values_list("pk", flat=True))
    page.force_login(reader)
    server.stop()
    try:
        timelines().flushdb()
        CACHED_POSTS.forget(ids)
        invalidate(POST_COUNTS.store)
        home = page.get("/")
        assert home.status_code == 200
        assert "From here." in home.text
        assert "From the east." not in home.text
        assert home.headers["X-Feed-Degraded"] == "posts"
        thread = page.get(f"/@{ben.handle}/{post.pk}")
        assert thread.status_code == 200
        assert "An answer from here." in thread.text
        assert "An answer from the east." not in thread.text
        assert thread.headers["X-Feed-Degraded"] == "posts"
        assert page.get(f"/@{ben.handle}").status_code == 200
        for path in (f"/@{ann.handle}", f"/@{ann.handle}/{hers.pk}"):
            assert page.get(path).status_code == 503, path
        like_post(reader, post.pk)
        written = publish(ben, "Meanwhile.", reply_to_id=post.pk)
        publishing.edit(ben, written.pk, body="Meanwhile, changed.")
        publishing.delete(written.pk, by=ben)
    finally:
        server.start()
    apps.shards._Away.until = 0.0
    whole = page.get("/").text
    assert "From the east." in whole  # what was read in part was not kept
    assert "From here." in whole
    assert "An answer from the east." in page.get(f"/@{ben.handle}/{post.pk}").text
    assert page.get(f"/@{ann.handle}").status_code == 200
    assert drifts() == {}
