"""What is read by statements that are written by hand is what the ORM would read."""

from contextlib import suppress

import pytest
from django.db import ProgrammingError, transaction

from apps.accounts.models import User, UserCounts
from apps.accounts.queries import active_viewer, personal_token, user_by_handle
from apps.search.suggestions import suggested_people
from apps.sql import TimeLimit, TooSlow, rows_of

pytestmark = pytest.mark.django_db


def test_what_takes_too_long_is_given_up_and_leaves_no_trace():
    def timeout():
        return rows_of("SHOW statement_timeout", {})

    before, time_limit = timeout(), TimeLimit(60)
    assert time_limit.rows_of("SELECT %(number)s", {"number": 1}) == [(1,)]
    assert time_limit.rows_of("SELECT 1 WHERE false", {}) == []
    assert timeout() == before
    with pytest.raises(TooSlow), transaction.atomic():
        TimeLimit(0.05).rows_of("SELECT pg_sleep(60)", {})
    assert timeout() == before
    with pytest.raises(ProgrammingError), transaction.atomic():
        time_limit.rows_of("SELECT nothing", {})


def test_the_time_is_for_all_statements_together():
    time_limit = TimeLimit(0.1)
    for _ in range(2):
        with suppress(TooSlow), transaction.atomic():
            time_limit.rows_of("SELECT pg_sleep(60)", {})
    with pytest.raises(TooSlow), transaction.atomic():
        time_limit.rows_of("SELECT pg_sleep(1)", {})


def assert_same(found, exact):
    assert found == exact
    assert not found.get_deferred_fields()
    for field in type(exact)._meta.concrete_fields:
        assert getattr(found, field.attname) == getattr(exact, field.attname)


def test_an_account_has_every_field_and_its_counts(alice, carol, django_assert_num_queries):
    User.objects.filter(pk=alice.pk).update(lines=[["Home", "Bath 100% 'x'"]], bio="Hello.")
    UserCounts.objects.filter(pk=alice.pk).update(posts=7)
    exact = User.objects.select_related("counts").get(pk=alice.pk)
    for read, statements in (
        (lambda: user_by_handle("@Alice"), 2),  # the handle, then the account
        (lambda: suggested_people(carol, limit=1)[0], 1),
    ):
        with django_assert_num_queries(statements):
            found = read()
            assert found is not None
            assert_same(found.counts, exact.counts)
        assert_same(found, exact)
        assert found.lines == [["Home", "Bath 100% 'x'"]]


def test_the_account_that_asks_has_every_field_and_count_some_read_when_they_are_asked_for(alice):
    User.objects.filter(pk=alice.pk).update(bio="Hello.")
    UserCounts.objects.filter(pk=alice.pk).update(posts=7)
    found, exact = active_viewer(alice.pk), User.objects.get(pk=alice.pk)
    assert found is not None
    for field in User._meta.concrete_fields:
        assert getattr(found, field.attname) == getattr(exact, field.attname)
    for field in UserCounts._meta.concrete_fields:
        assert getattr(found.counts, field.attname) == getattr(exact.counts, field.attname)


def test_an_account_that_was_read_can_be_saved(alice):
    found = active_viewer(alice.pk)
    assert found
    found.display_name = "Ada"
    found.save(update_fields=["display_name"])
    alice.refresh_from_db()
    assert alice.display_name == "Ada"


def test_an_account_without_counts_is_an_account():
    bare = User.objects.create(handle="bare", password="!")
    found = active_viewer(bare.pk)
    assert found == bare
    assert not UserCounts.objects.filter(user=bare).exists()


def test_values_are_no_sql(alice):
    assert personal_token("' OR 'a' = 'a") is None
