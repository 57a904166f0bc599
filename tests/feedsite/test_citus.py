"""A real Citus of a coordinator and three workers: what people do, and how many shards it asks."""

from contextlib import ExitStack

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.test.utils import CaptureQueriesContext, isolate_apps

from apps.accounts import queries as accounts
from apps.accounts.cache import USER_COUNTS
from apps.accounts.models import User
from apps.engagement.actions import like_post, unlike_post, vote
from apps.engagement.queries import poll_results
from apps.graph.actions import block_user, follow_user, unblock_user, unfollow_user
from apps.graph.models import Followee, Follower
from apps.graph.queries import followers_page, following_page
from apps.notifications.models import Notification
from apps.pagination import Cursor
from apps.posts.actions.drafts import PollDraft
from apps.posts.models import Poll, Post, PostCounts
from apps.posts.queries import visible_posts
from apps.search.queries import search_people
from apps.timeline import publishing
from apps.timeline.home import home_timeline
from apps.timeline.sources import sql
from apps.timeline.thread import thread
from feedsite.management.commands import distribute
from tests.support import citus
from tests.support.factories import deliver, make_user, publish, repost
from tests.support.flushing import empty
from tools.scale import NotToBeHad

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
    assert {person.handle for person in search_people(people[1], "person", limit=10)} == {
        person.handle for person in people
    }


def test_votes_of_accounts_on_several_servers(people):
    ann, ben, *_others = people
    post = publish(ann, "Which?", poll=PollDraft(options=["this", "that"], seconds=3600))
    vote(ben, post.pk, [1])
    assert Poll.objects.get(post=post).votes == [0, 1]
    assert poll_results(ben.pk, [post.pk])[post.pk].own == (1,)


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


def test_an_account_by_its_handle_does_not_bring_all_counts_to_the_coordinator(people):
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (COSTS OFF) {accounts._BY_HANDLE}", {"handle": people[0].handle})
        assert not any("Subplan" in line for (line,) in cursor.fetchall())


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
