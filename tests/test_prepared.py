"""A prepared query answers as the ORM does, in one query, and sees every change."""

import threading
from contextlib import nullcontext, suppress
from datetime import UTC, datetime

import psycopg
import pytest
from django.db import IntegrityError, NotSupportedError, connection, models, transaction
from django.db.models.sql.compiler import SQLCompiler

from apps.accounts.models import AccessToken, User
from apps.posts.models import Post
from apps.prepared import IsAnyOf, Prepared
from tests.factories import publish
from tests.threads import together

pytestmark = pytest.mark.django_db


class Changing(models.Model):
    name = models.TextField()

    class Meta:
        app_label = "tests"
        db_table = "changing"
        managed = False


def by_handle(handle):
    return User.objects.filter(handle=handle, suspended_at=None).select_related("counts")


def test_the_objects_are_those_of_the_orm(alice, django_assert_num_queries):
    User.objects.filter(pk=alice.pk).update(lines=[["Home", "Bath"]], bio="Hello.")
    prepared, exact = Prepared(by_handle, "a handle"), by_handle("alice").get()
    for _ in range(2):
        with django_assert_num_queries(1):
            found = prepared.first("alice")
            assert found == exact
            assert found.counts.following == exact.counts.following
        for field in User._meta.concrete_fields:
            assert getattr(found, field.attname) == getattr(exact, field.attname)
        assert found.lines == [["Home", "Bath"]]
        assert not found.get_deferred_fields()
        assert not found._state.adding


def test_it_sees_every_change_and_finds_nothing_else(alice, bob):
    prepared = Prepared(by_handle, "a handle")
    assert prepared.first("nobody") is None
    assert prepared.first("bob") == bob
    User.objects.filter(pk=alice.pk).update(suspended_at=datetime.now(UTC))
    assert prepared.first("alice") is None
    assert prepared.first("alice' OR 'a' = 'a") is None


def test_a_relation_that_is_null_is_none(alice):
    prepared = Prepared(
        lambda pk: Post.objects.filter(pk=pk).select_related("circle", "author"), -1
    )
    post = prepared.first(publish(alice).pk)
    assert post
    assert post.circle is None
    assert post.author == alice


def test_values_stand_wherever_they_are_asked_for(alice, bob):
    prepared = Prepared(
        lambda pk: (
            User.objects.filter(pk=pk)
            .union(User.objects.filter(handle="bob").exclude(pk=pk))
            .order_by("handle")
        ),
        -1,
    )
    assert prepared.all(alice.pk) == [alice, bob]
    assert prepared.all(bob.pk) == [bob]


def test_rows_of_plain_values(alice, bob):
    prepared = Prepared(
        lambda handle: User.objects.filter(handle=handle).values_list("pk", "lines"), "a handle"
    )
    assert prepared.rows("bob") == [(bob.pk, [])]
    assert prepared.rows("nobody") == []


def test_a_changed_object_can_be_saved(alice):
    token = AccessToken.objects.create(user=alice, digest="d", name="n")
    found = Prepared(lambda digest: AccessToken.objects.filter(digest=digest), "a digest").first(
        "d"
    )
    assert found
    found.name = "other"
    found.save(update_fields=["name"])
    token.refresh_from_db()
    assert token.name == "other"


def test_postgresql_plans_it_once_for_a_connection(alice, bob):
    prepared = Prepared(by_handle, "a handle")
    assert [prepared.first(name) for name in ("alice", "bob", "alice")] == [alice, bob, alice]
    assert plans_made(prepared) == 3


def test_a_savepoint_that_is_rolled_back_costs_no_plan(alice):
    prepared = Prepared(by_handle, "a handle")
    assert prepared.first("alice") == alice
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create(pk=alice.pk)
    assert prepared.first("alice") == alice
    assert plans_made(prepared) == 2


def plans_made(prepared):
    """How often this connection used the plan that PostgreSQL keeps of a query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT generic_plans + custom_plans FROM pg_prepared_statements WHERE statement = %s",
            [prepared._plan.sql.replace("%s", "$1")],
        )
        [(number,)] = cursor.fetchall()
        return number


@pytest.mark.django_db(transaction=True)
def test_a_kept_plan_whose_columns_have_changed_is_made_anew():
    prepared = Prepared(lambda pk: models.QuerySet(Changing).filter(pk=pk), -1)
    run("CREATE TABLE changing AS SELECT 1 AS id, 'a' AS name")
    try:
        assert [one.name for one in prepared.all(1)] == ["a"]
        run("ALTER TABLE changing ALTER name TYPE varchar(10)")
        for _ in range(2):
            assert [one.name for one in prepared.all(1)] == ["a"]
        assert plans_made(prepared) == 2, "the second time with the new plan"
        run("ALTER TABLE changing ALTER name TYPE varchar(20)")
        with pytest.raises(NotSupportedError), transaction.atomic():
            prepared.first(1)  # the transaction has failed: nothing in it can be asked again
    finally:
        run("DROP TABLE changing")


def run(statement):
    """On a connection of its own: what another does to a table is not noticed by the driver."""
    connection.ensure_connection()
    with psycopg.connect(connection.connection.info.dsn, autocommit=True) as other:
        other.execute(statement)


@pytest.mark.parametrize("number", [0, 1, 5])
def test_however_many_ids_are_asked_for_it_is_one_query(alice, bob, number):
    posts = [publish(alice, f"Number {n}.", reply_to_id=publish(bob).pk) for n in range(6)]
    prepared = Prepared(lambda ids: Post.objects.filter(IsAnyOf("pk", ids)).order_by("pk"), [-1])
    of_those = Prepared(lambda ids: Post.objects.filter(IsAnyOf("reply_to", ids)), [-1])
    wanted = posts[:number]
    for _ in range(2):
        assert prepared.all([post.pk for post in wanted]) == wanted
        assert len(of_those.all([post.reply_to_id for post in wanted])) == number


@pytest.mark.parametrize("step", ["build", "compile"])
def test_threads_that_ask_first_share_one_plan(step, monkeypatch):
    """Two at once would change the same query, and the wrong SQL would stay (Python 3.12 took the lock away)."""
    for name in ("_queryset", "_plan"):
        # of Python 3.11 alone: what is tested must not depend on it
        monkeypatch.setattr(vars(Prepared)[name], "lock", nullcontext(), raising=False)
    meeting, met, exact = threading.Barrier(2), [], by_handle("a handle")

    def meet():
        met.append(threading.current_thread())
        with suppress(threading.BrokenBarrierError):
            meeting.wait(0.5)  # the first one waits in vain, unless a second is here as well

    def build(handle):
        if step == "build":
            meet()
        return by_handle(handle)

    as_sql = SQLCompiler.as_sql

    def compiled(self, *args, **options):
        if step == "compile":
            meet()
        return as_sql(self, *args, **options)

    monkeypatch.setattr(SQLCompiler, "as_sql", compiled)
    prepared = Prepared(build, "a handle")
    plans = together(4, lambda _number: prepared._plan)
    assert len(met) == 1
    assert all(plan is plans[0] for plan in plans)
    assert plans[0].sql == as_sql(exact.query.get_compiler("default"))[0]
