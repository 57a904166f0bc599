"""A prepared query answers as the ORM does, in one query, and sees every change."""

from datetime import UTC, datetime

import pytest

from apps.accounts.models import AccessToken, User
from apps.posts.models import Post
from apps.prepared import Prepared
from tests.factories import publish

pytestmark = pytest.mark.django_db


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
