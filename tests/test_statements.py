"""Statements that are sent together do what they do alone, and rows are those that the ORM would write."""

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection, transaction

from apps.posts.models import IdempotencyKey, Post, PostCounts
from apps.statements import Insert, Statements
from tests.factories import publish

pytestmark = pytest.mark.django_db


def test_each_sees_what_those_before_it_did(alice, django_assert_num_queries):
    found, statements = [], Statements()
    statements.add("SELECT count(*) FROM posts_idempotencykey", [], found.append)
    Insert(IdempotencyKey).add(
        statements, [IdempotencyKey(user=alice, key=f"k{number} 100%; --'") for number in range(2)]
    )
    statements.add(
        "SELECT key FROM posts_idempotencykey WHERE user_id = %s ORDER BY 1",
        [alice.pk],
        found.append,
    )
    with django_assert_num_queries(1):
        statements.send()
    assert found == [[(0,)], [("k0 100%; --'",), ("k1 100%; --'",)]]


def test_none_are_no_trip(django_assert_num_queries):
    statements = Statements()
    Insert(IdempotencyKey).add(statements, [])
    with django_assert_num_queries(0):
        statements.send()


def test_an_error_of_one_is_an_error_of_all(alice):
    found, statements = [], Statements()
    keys = Insert(IdempotencyKey)
    keys.add(statements, [IdempotencyKey(user=alice, key="k")])
    statements.add("SELECT 1", [], found.append)
    keys.add(statements, [IdempotencyKey(user=alice, key="k")])
    with pytest.raises(IntegrityError), transaction.atomic():
        statements.send()
    assert not found
    assert not IdempotencyKey.objects.exists()


def test_rows_are_those_of_the_orm(alice):
    made = publish(alice, "hello")  # that is the ORM's
    PostCounts.objects.filter(pk=made.pk).delete()
    exact = Post.objects.get(pk=made.pk)
    exact.pinned_at = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)
    with connection.cursor() as sql:
        sql.execute("DELETE FROM events_event")
        sql.execute("DELETE FROM posts_post WHERE id = %s", [made.pk])
    exact._state.adding = True
    statements = Statements()
    Insert(Post).add(statements, [exact])
    Insert(PostCounts).add(statements, [PostCounts(post=exact, likes=3)])
    statements.send()
    assert not exact._state.adding
    again = Post.objects.select_related("counts").get(pk=exact.pk)
    for field in Post._meta.concrete_fields:
        assert getattr(again, field.attname) == getattr(exact, field.attname)
    assert (again.counts.likes, again.counts.replies, again.counts.revision) == (3, 0, 0)
