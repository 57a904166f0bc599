"""A real Citus of a coordinator and three workers: what people do, and how many shards it asks."""

from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from io import BytesIO

import psycopg
import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.core.management import CommandError, call_command
from django.db import DatabaseError, OperationalError, connection, models
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext, isolate_apps
from django.urls import reverse
from django.utils import timezone

from apps.accounts.actions import issue_token
from apps.accounts.cache import USER_COUNTS
from apps.accounts.models import User, UserCounts
from apps.accounts.queries import active_user, user_by_handle
from apps.engagement.actions import like_post, unlike_post, vote
from apps.engagement.queries import poll_results
from apps.events import actions as events
from apps.events.leases import MAX_ATTEMPTS, State
from apps.events.models import Event
from apps.feeds.actions import create_feed
from apps.graph.actions import block_user, follow_user, unblock_user, unfollow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle, Followee, Follower, UserList
from apps.graph.queries import followers_page, following_page, mirror_faults, relations
from apps.moderation.actions import file_report
from apps.notifications.models import Notification
from apps.oauth.queries import bearer_of
from apps.pagination import Cursor
from apps.posts import queries
from apps.posts.actions.attachments import is_served
from apps.posts.actions.drafts import PollDraft
from apps.posts.actions.edit import edit_post
from apps.posts.actions.uploads import purge_unused_uploads, upload_picture, withdraw_picture
from apps.posts.models import Attachment, MediaState, Poll, Post, PostCounts
from apps.posts.queries import visible_posts
from apps.privacy.archive import PARTS, pictures_of
from apps.search.queries import search_people
from apps.sql import estimated_rows
from apps.timeline import publishing
from apps.timeline.home import home_timeline
from apps.timeline.models import PostReplica
from apps.timeline.profile import profile_head
from apps.timeline.sources import outbox, replica, sql
from apps.timeline.sources.home import SERVER
from apps.timeline.sources.home_cache import HOME
from apps.timeline.tasks import maintain_replicas
from apps.timeline.thread import thread
from apps.webhooks.actions import create_endpoint
from apps.webhooks.models import Delivery, Kind
from feedsite.management.commands import distribute
from tests.feeds.test_timeline import play as play_feeds
from tests.posts.test_videos import prepared
from tests.support import citus, memory
from tests.support.factories import deliver, delivered, make_user, publish, repost
from tests.support.flushing import empty
from tests.support.pictures import picture
from tests.support.releases import AUTHOR, people_of, releases, seen, sql_of
from tests.support.services import running
from tests.support.staff import browser_of, make_staff
from tests.support.waiting import wait_until
from tests.timeline import test_replica as replicas
from tests.timeline.test_home_histories import play
from tests.timeline.test_replica import databases  # noqa: F401 -- a fixture
from tools.scale import NotToBeHad
from tools.vitals.pages import MEMBER, NEWCOMER, PAGES, VISITOR

pytestmark = [pytest.mark.clusters, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="session")
def citus_url(tmp_path_factory):
    with ExitStack() as undo:
        try:
            yield citus.start(undo, tmp_path_factory.mktemp("citus"))
        except NotToBeHad as error:
            pytest.skip(str(error))


@pytest.fixture
def on_citus(citus_url, transactional_db):
    with citus.connected(citus_url):
        yield
        empty()


@pytest.fixture
def people(on_citus):
    """Enough for rows on every worker; the second and the third follow the first."""
    ann, *others = (make_user(f"person{number}") for number in range(6))
    for other in others[:2]:
        follow_user(other, ann)
    deliver()
    return [ann, *others]


def test_what_people_do(people):
    ann, ben, cem, *_others = people
    post = publish(ann, "Hello @person3, tea?")
    answer = publish(ben, "Yes.", reply_to_id=post.pk)
    like_post(cem, post.pk)
    shared = repost(cem, post.pk)
    deliver()
    assert [item.id for item in home_timeline(ben, Cursor()).items][-1] == post.pk
    assert PostCounts.objects.get(post=post).likes == 1
    assert PostCounts.objects.get(post=post).reposts == 1
    assert [item.id for item in thread(ann.pk, answer.pk).ancestors if item] == [post.pk]
    kinds = set(Notification.objects.filter(user=ann).values_list("kind", flat=True))
    assert kinds == {"follow", "reply", "like", "repost"}
    assert set(Notification.objects.filter(user=people[3]).values_list("kind", flat=True)) == {
        "mention"
    }
    unlike_post(cem, post.pk)
    publishing.delete(shared.pk, by=cem)
    publishing.delete(post.pk, by=ann)
    deliver()
    assert post.pk not in visible_posts(ben.pk, [post.pk]).posts
    assert Post.objects.get(pk=post.pk).deleted_at is not None


@pytest.mark.usefixtures("media")
def test_what_an_account_takes_along(people):
    ann, ben, *_others = people
    post = publish(ann, "Hello.", media_ids=[upload_picture(ann, BytesIO(picture())).pk])
    gone = publish(ann, "Gone.")
    for one in (post, gone):
        like_post(ben, one.pk)
    publishing.delete(gone.pk, by=ann)
    deliver()
    rows = {part.file: [*part.written(list(part.rows(ben)))] for part in PARTS}
    assert [row["post"] for row in rows["likes.csv"]] == [
        f"{settings.SITE_URL}/@{ann.handle}/{post.pk}"
    ]
    assert [row["Account address"] for row in rows["following_accounts.csv"]]
    assert pictures_of(ann).count() == 1
    assert is_served(str(pictures_of(ann)[0].file.name))


@pytest.mark.usefixtures("media")
def test_posts_with_pictures_and_videos(people):
    ann = people[0]
    first, second = (upload_picture(ann, BytesIO(picture())).pk for _number in range(2))
    post = publish(ann, "Two.", media_ids=[first, second])
    for shown in ([second], [], [second, first]):
        edit_post(ann, post.pk, body=f"{len(shown)}.", media_ids=shown)
        seen_now = visible_posts(None, [post.pk]).posts[post.pk].pictures
        assert [one.id for one in seen_now] == shown
    withdraw_picture(ann, upload_picture(ann, BytesIO(picture())).pk)
    waiting = [upload_picture(one, BytesIO(picture())).pk for one in people[:3]]
    Attachment.objects.update(created_at=timezone.now() - timedelta(days=2))
    assert purge_unused_uploads(limit=2) == 2
    assert purge_unused_uploads(limit=2) == 1
    assert not Attachment.objects.filter(pk__in=waiting).exists()
    moving = prepared(ann)
    assert moving.state == MediaState.READY
    publish(ann, "It moves.", media_ids=[moving.pk])


def test_the_demo_fills_a_distributed_site(on_citus):
    call_command("seed_demo", size="small", verbosity=0)
    rows = dict(UserCounts.objects.values_list("user_id", "followers"))
    followed = Counter(Follower.objects.values_list("owner_id", flat=True))
    assert {pk: number for pk, number in rows.items() if number} == followed
    assert sum(PostCounts.objects.values_list("likes", flat=True)) > 100


def test_follows_and_blocks_of_accounts_on_two_servers(people):
    ann, ben, *_others = people
    assert Follower.objects.filter(owner=ann, follower=ben).exists()
    block_user(ann, ben)
    assert not Followee.objects.filter(owner=ben, followee=ann).exists()
    assert not Follower.objects.filter(owner=ann, follower=ben).exists()
    unblock_user(ann, ben)
    follow_user(ben, ann)
    unfollow_user(ben, ann)
    assert USER_COUNTS.source.rows([ann.pk])[ann.pk].values[0] == 1


def test_webhooks_get_notifications_of_accounts_on_all_servers(people, settings):
    settings.WEBHOOKS_ANYWHERE = True
    ann, *others = people
    for person in people:
        create_endpoint(person, "http://127.0.0.1/hook", Kind.values)
    for other in others:
        follow_user(other, ann)
        follow_user(ann, other)
    deliver()
    queued = Counter(Delivery.objects.values_list("endpoint__owner__handle", flat=True))
    assert queued == {ann.handle: 3, **{other.handle: 1 for other in others}}


def test_home_without_caches_reads_the_posts_of_all_servers(people):
    ann, ben, cem, dan, *_others = people
    for author in (cem, dan):
        follow_user(ben, author)
    posts = [publish(author, f"By {author.handle}.").pk for author in (ann, cem, dan)]
    posts.append(publish(dan, "For followers.", visibility="followers").pk)
    publish(people[4], "By a stranger.")
    assert sorted(sql.home_ids(ben.pk, Cursor(), 20)) == sorted(posts)
    assert sorted(sql.home_ids_nearby(ben.pk, Cursor(), 20)) == sorted(posts)
    assert sql.restricted_home_ids(ben.pk, Cursor(), 20) == [posts[-1]]


def test_people_are_found(people):
    handles = {person.handle for person in people}
    for viewer in (people[1], None):
        found = search_people(viewer, "person", limit=10)
        assert {person.handle for person in found} == handles


def test_large_tables_are_estimated_from_their_shards(people, monkeypatch):
    for author in people:
        publish(author, "Counted.")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    for table, number in {"posts_post": 6, "accounts_user": 6, "events_event": 1}.items():
        assert estimated_rows(table) >= number, table
    monkeypatch.setattr(queries, "MAX_COUNTED", 5)
    queries.SIZES.clear()
    assert queries.site_size() == {"users": 6, "posts": 6}


def test_votes_of_accounts_on_several_servers(people):
    ann, ben, *_others = people
    post = publish(ann, "Which?", poll=PollDraft(options=["this", "that"], seconds=3600))
    vote(ben, post.pk, [1])
    assert Poll.objects.get(post=post).votes == [0, 1]
    assert poll_results(ben.pk, [post.pk])[post.pk].own == (1,)


def scene(ann, ben):
    """What the braces in the addresses of pages stand for: what these two have made."""
    follow_user(ann, ben)
    own_post = publish(ben, "Coffee #tea.")
    post = publish(ann, "Hello #tea.")
    publish(ben, "Well.", reply_to_id=post.pk)
    like_post(ben, post.pk)
    repost(ben, post.pk)
    names = create_group(UserList, ben, name="Near")
    add_members(UserList, ben, names.pk, [ann.pk])
    circle = create_group(Circle, ben, name="Choir")
    feed = create_feed(ben, name="Near by", include_people=[ann.handle], include_tags=["tea"])
    deliver()
    return {
        "viewer": ben.handle,
        "author": ann.handle,
        "post": post.pk,
        "own_post": own_post.pk,
        "tag": "tea",
        "word": "hello",
        "list": names.pk,
        "circle": circle.pk,
        "feed": feed.pk,
    }


def test_every_page_is_shown(people):
    names = scene(*people[:2])
    browsers = {
        VISITOR: Client(),
        MEMBER: browser_of(people[1]),
        NEWCOMER: browser_of(people[5]),
    }
    failed, shown = {}, 0
    for page in PAGES:
        try:
            address = page.address.format_map(names)
        except (
            KeyError
        ):  # of an import, an archive and the like: files, and rows of the coordinator
            continue
        shown += 1
        status: int | str
        try:
            status = browsers[page.who].get(address).status_code
        except DatabaseError as error:
            status = str(error)
        if status not in {page.status, 302}:
            failed[page.name] = status
    assert failed == {}
    assert shown > 100


def test_every_page_of_staff_is_shown(people):
    """The lists of the admin, with a search where there is one, and the page of a row of each."""
    names = scene(*people[:2])
    file_report(people[2], people[0], post_ids=[names["post"]], comment="Rude.")
    deliver()
    browser, failed, shown = browser_of(make_staff(superuser=True)), {}, 0
    for model, options in admin.site._registry.items():
        name = model._meta.label_lower.replace(".", "_")
        path = reverse(f"admin:{name}_changelist")
        paths = [path, *([f"{path}?q=a"] if options.search_fields else [])]
        if model._meta.managed and (row := model._default_manager.first()):
            paths.append(reverse(f"admin:{name}_change", args=[quote(row.pk)]))
        for address in paths:
            shown += 1
            status: int | str
            try:
                status = browser.get(address).status_code
            except DatabaseError as error:
                status = str(error)
            if status != 200:
                failed[address] = status
    assert failed == {}
    assert shown > 60


@pytest.mark.parametrize("seed", range(2))
def test_feeds_after_random_histories_are_what_the_rules_say(on_citus, seed, settings):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    play_feeds(seed, rounds=1)


@pytest.mark.usefixtures("databases")
def test_copies_of_posts_for_readers_are_in_databases_of_their_own(people, settings):
    ann, ben, cem, *_others = people
    settings.TIMELINE_SHARDS = ["default", "shard_b"]
    with pytest.raises(CommandError, match="Name separate databases"):
        call_command("distribute", check=True)
    settings.TIMELINE_SHARDS = ["shard_b"]
    follow_user(ben, cem)
    with replicas.connected("shard_b"):
        older = publish(ann, "Before.").pk
        deliver()
        maintain_replicas()
        posts = [publish(author, "Copied.").pk for author in (ann, cem)]
        deliver()
        authors = [ann.pk, cem.pk]
        copied = PostReplica.objects.using("shard_b").values_list("post_id", flat=True)
        assert set(copied) == {older, *posts}
        assert set(replica.newest(ben.pk, authors, Cursor(), 3) or ()) == {older, *posts}
        waiting = publish(cem, "On its way.").pk  # read from its event meanwhile
        assert replica.newest(ben.pk, authors, Cursor(), 1) == [waiting]
        publishing.delete(older, by=ann)
        deliver()
        assert older not in copied.all()


@pytest.mark.parametrize("seed", range(4))
def test_homes_after_random_histories_are_what_the_rules_say(on_citus, seed, monkeypatch):
    play(seed, monkeypatch)


def test_a_site_with_rows_is_distributed_and_goes_on_after_an_interruption(
    citus_url, transactional_db, monkeypatch, capsys
):
    url = own_cluster().join("grown")
    citus.manage(url, "migrate", "--verbosity", "0")
    with citus.connected(url):
        ann, ben, cem = (make_user(f"person{number}") for number in range(3))
        follow_user(ben, ann)
        posts = [publish(ann, f"Number {number} for @person2.").pk for number in range(3)]
        like_post(cem, posts[0])
        repost(cem, posts[1])
        deliver()
        before = {
            table: rows_in(table) for table in [*distribute.DISTRIBUTED, *distribute.REFERENCE]
        }
        assert before["posts_post"] == 4
        with monkeypatch.context() as patch:
            patch.setattr(distribute, "move", interrupted_after(distribute.move, 12))
            with pytest.raises(KeyboardInterrupt):
                call_command("distribute", verbosity=0)
        assert len(distribute.missing()) == len(before) - 12
        call_command("distribute")
        assert f"1 of {len(before) - 12}: " in capsys.readouterr().out
        call_command("distribute")
        assert capsys.readouterr().out == "All tables are where they belong.\n"
        assert {table: rows_in(table) for table in before} == before
        posts.append(publish(ann, "One more.").pk)
        deliver()
        HOME.drop(ben.pk)
        assert [item.id for item in home_timeline(ben, Cursor()).items] == posts[::-1]
        assert PostCounts.objects.get(post=posts[0]).likes == 1


@pytest.mark.parametrize("release", releases()[1:])
def test_the_data_of_a_release_are_brought_along_and_distributed(
    citus_url, transactional_db, release
):
    """From 0.2.0 on."""
    url = own_cluster().join(f"released_{release.replace('.', '_')}")
    with psycopg.connect(url, autocommit=True) as session:
        session.execute(sql_of(release))
    for command in ("migrate", "distribute"):
        citus.manage(url, command, "--verbosity", "0")
    people = people_of(release)
    del people["made"]
    tokens = {handle: one.pop("token") for handle, one in people.items()}
    if running().memcached:  # rows of other tests had the same ids
        memory.flush()
    with citus.connected(url):
        assert {handle: seen(token) for handle, token in tokens.items()} == people
        assert set(mirror_faults().values()) == {0}
        post = delivered(User.objects.get(handle=AUTHOR), "After the upgrade.")
        assert seen(tokens["vfollower"])["home"][0] == [str(post.pk), "After the upgrade."]
    memory.flush()


def interrupted_after(move, number):
    moved = []

    def interrupted(table):
        if len(moved) == number:
            raise KeyboardInterrupt
        move(table)
        moved.append(table)

    return interrupted


def rows_in(table):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        return cursor.fetchone()[0]


def own_cluster():
    if not citus.started:
        pytest.skip("the servers of CITUS_URL are not ours")
    return citus.started[0]


@pytest.fixture
def split(people):
    """A worker, two accounts that lie on it, and two that do not: of each two the second follows the other three."""
    cluster = own_cluster()
    worker = cluster.workers[0]
    everybody = [*people, *(make_user(f"more{number}") for number in range(20))]
    there = cluster.accounts_on(worker)
    on_it = [person for person in everybody if person.pk in there][:2]
    elsewhere = [person for person in everybody if person.pk not in there][:2]
    for reader in (on_it[1], elsewhere[1]):
        for other in {*on_it, *elsewhere} - {reader}:
            follow_user(reader, other)
    deliver()
    yield worker, on_it, elsewhere
    if worker.child is None:
        worker.start()


def test_a_worker_that_is_down_stops_its_accounts_alone(split, api_of):
    worker, (author, reader), (other_author, other_reader) = split
    programs = {one.pk: api_of(one) for one in (author, reader, other_author, other_reader)}
    posts = [publish(one, f"By {one.handle}.") for one in (author, other_author)]
    deliver()

    def statuses(person):
        answer = programs[person.pk].post("/api/v1/statuses", {"status": "Hello."})
        return answer.status_code, answer.headers.get("Retry-After")

    def home(person):
        answer = programs[person.pk].get("/api/v1/timelines/home")
        shown = [int(one["id"]) for one in answer.json()] if answer.status_code == 200 else None
        return answer.status_code, shown, answer.headers.get("X-Feed-Degraded")

    relations(other_reader.pk, [author.pk])  # who blocks a reader is asked of all servers once
    HOME.drop(other_reader.pk)
    worker.kill()
    status, retry_after = statuses(author)
    assert (status, bool(retry_after)) == (503, True)
    assert home(reader)[0] == 503
    status, _retry = statuses(other_author)
    assert status == 200
    status, shown, degraded = home(other_reader)
    assert (status, degraded) == (200, SERVER)
    assert posts[1].pk in shown
    assert posts[0].pk not in shown
    worker.start()
    wait_until(lambda: statuses(author)[0] == 200, "its accounts publish again")
    deliver()
    status, shown, degraded = home(other_reader)
    assert (status, degraded) == (200, None)
    assert {post.pk for post in posts} <= set(shown)


def test_work_for_a_worker_that_is_down_waits_without_using_up_its_tries(split):
    worker, (author, _reader), _elsewhere = split
    post = publish(author, "Hello.")
    worker.kill()
    for _round in range(MAX_ATTEMPTS + 1):
        make_due()
        events.run_due(limit=100)
    left = Event.objects.filter(state=State.PENDING, payload__post_id=post.pk)
    assert left.exists()
    assert not Event.objects.filter(state=State.DEAD).exists()
    worker.start()
    wait_until(lambda: is_there(post), "the worker is back")
    make_due()
    deliver()
    assert not left.exists()


def is_there(post):
    try:
        return Post.objects.filter(pk=post.pk).exists()
    except OperationalError:
        return False


def make_due():
    Event.objects.filter(state=State.PENDING).update(due_at=Now())


def tasks_of(read, table=""):
    """How many shards the parts of each statement of a call ask, as Citus plans them; of those about a table only."""
    with CaptureQueriesContext(connection) as captured:
        read()
    statements = [
        statement.strip()
        for query in captured.captured_queries
        for statement in query["sql"].split(";")
        if table in statement
        and statement.strip().startswith(("SELECT", "INSERT", "UPDATE", "DELETE"))
    ]
    tasks = {statement: _tasks(statement) for statement in statements}
    assert any(tasks.values())  # not on the coordinator alone
    return {
        statement: most for statement, found in tasks.items() if (most := max(found, default=0)) > 1
    }


def _tasks(statement):
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (COSTS OFF) {statement}")
        lines = [line.strip() for (line,) in cursor.fetchall()]
    return [int(line.removeprefix("Task Count: ")) for line in lines if "Task Count" in line]


def test_hot_paths_ask_one_shard_in_each_statement(people):
    ann, ben, *_others = people
    post = publish(ann, "Hello.")
    deliver()
    visible_posts(
        ben.pk, [post.pk]
    )  # who blocks a reader is asked of all, when Redis does not have it
    asked = {
        "a post by its id": tasks_of(lambda: visible_posts(None, [post.pk])),
        "a profile": tasks_of(
            lambda: sql.author_ids(ann.pk, ben.pk, follows=True, cursor=Cursor(), count=20)
        ),
        "an outbox": tasks_of(lambda: outbox.load(200, [ann.pk])),
        "restricted posts of a profile": tasks_of(
            lambda: sql.restricted_ids(ann.pk, ben.pk, cursor=Cursor(), count=20)
        ),
        # whose accounts and counts lie on the servers of these people
        "followers": tasks_of(lambda: followers_page(ann, None, Cursor()), 'FROM "graph_follower"'),
        "followees": tasks_of(lambda: following_page(ben, None, Cursor()), 'FROM "graph_followee"'),
        "notifications": tasks_of(lambda: list(Notification.objects.filter(user=ann)[:20])),
        "a publication": tasks_of(lambda: publish(ann, "Once more.")),
        "a like": tasks_of(lambda: like_post(ben, post.pk)),
    }
    assert asked == {name: {} for name in asked}
    # of each account its own, in statements of their own; whether either blocks the other is one statement
    assert set(tasks_of(lambda: follow_user(people[4], people[5])).values()) <= {2}


def test_an_account_is_read_by_its_id_and_asks_one_shard(people):
    ann, ben, *_others = people
    token = issue_token(ann, name="test")
    asked = {
        "by its handle": tasks_of(lambda: user_by_handle(ann.handle)),
        "by its token": tasks_of(lambda: bearer_of(token)),
        "of a session": tasks_of(lambda: active_user(ann.pk)),
        "its profile": tasks_of(lambda: profile_head(ann.handle, ben.pk)),
    }
    assert asked == {name: {} for name in asked}


@isolate_apps("apps.posts")
def make_remarks():
    """What a later migration would do: a table that refers to posts and to accounts."""

    class Remark(models.Model):
        post = models.ForeignKey(Post, models.CASCADE, related_name="+", db_constraint=False)
        author_id = models.BigIntegerField()
        user = models.ForeignKey(User, models.CASCADE, related_name="+")

        class Meta:
            app_label = "posts"

    with connection.schema_editor() as editor:
        editor.create_model(Remark)
    return Remark


def references(table):
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, table).values()
    return {one["foreign_key"] for one in constraints if one["foreign_key"]}


def drop(model):
    with connection.schema_editor() as editor:
        editor.delete_model(model)


def test_a_new_table_refers_to_accounts_on_one_server(transactional_db):
    remarks = make_remarks()
    try:
        assert references("posts_remark") == {("accounts_user", "id")}
    finally:
        drop(remarks)


def test_a_new_table_that_refers_to_posts_is_made_and_distributed(people, monkeypatch, capsys):
    monkeypatch.setitem(distribute.DISTRIBUTED, "posts_remark", "author_id")
    post = publish(people[0], "Remarkable.")
    remarks = make_remarks()
    try:
        assert references("posts_remark") == set()
        with pytest.raises(CommandError, match="1 tables must be moved"):
            call_command("distribute", check=True)
        assert "posts_remark: distribute by author_id" in capsys.readouterr().out
        remarks.objects.create(post=post, author_id=post.author_id, user=people[1])
        call_command("distribute")
        assert "1 of 1: posts_remark, 1 rows" in capsys.readouterr().out
        call_command("distribute", check=True)
        assert remarks.objects.get(author_id=post.author_id).post_id == post.pk
        with connection.schema_editor() as editor:
            editor.add_field(remarks, new_field(remarks, "text", models.TextField(db_default="")))
        assert remarks.objects.filter(author_id=post.author_id).count() == 1
    finally:
        drop(remarks)


def new_field(model, name, field):
    field.set_attributes_from_name(name)
    field.model = model
    return field
