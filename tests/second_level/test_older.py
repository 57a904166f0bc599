"""Pages are answered from the second level, and fill it."""

import pytest
from celery import current_app

from apps.audit.oracle import Oracle
from apps.pagination import Cursor
from apps.second_level.tasks import fill
from apps.timeline.home import home_timeline
from apps.timeline.models import TimelineSpan
from apps.timeline.sources import older, outbox
from feedcache.connections import timelines
from tests.support.factories import publish
from tests.timeline.test_older import (
    PAGE,
    authors,
    far_apart,
    ids_of,
    reader,
    rung,
    small_windows,
    walk,
)

__all__ = ["authors", "far_apart", "reader", "rung", "small_windows"]  # fixtures
pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_the_second_level_is_asked_first_and_filled_also_after_a_quick_page(
    reader, rung, django_assert_num_queries
):
    ids = ids_of(reader)
    with django_assert_num_queries(2):  # the second level, then the next posts of the site
        assert older.home_ids(reader.pk, Cursor(max_id=ids[99]), 21) == ids[100:121]
    assert rung == [("apps.second_level.tasks.fill", reader.pk, ids[99])]
    fill(*rung[0][1:])
    with django_assert_num_queries(2):  # the second level, and what is restricted
        assert older.home_ids(reader.pk, Cursor(max_id=ids[99]), 21) == ids[100:121]
    assert len(rung) == 1


@pytest.mark.slow
def test_a_page_that_was_not_is_kept_on_by_a_worker(
    reader, far_apart, rung, django_assert_num_queries
):
    ids = ids_of(reader)
    with django_assert_num_queries(2):  # the second level, then all; nothing is nearby
        assert older.home_ids(reader.pk, Cursor(max_id=ids[99]), 21) == ids[100:121]
    assert rung == [("apps.second_level.tasks.fill", reader.pk, ids[99])]
    for _twice in range(2):
        fill(*rung[0][1:])
    assert TimelineSpan.objects.get().length == len(ids) - 100
    rung.clear()
    for start in range(99, 250, 20):
        with django_assert_num_queries(2):  # the second level, and what is restricted
            below = Cursor(max_id=ids[start])
            assert older.home_ids(reader.pk, below, 21) == ids[start + 1 : start + 22]
    assert rung == []


@pytest.mark.slow
def test_a_rebuilt_home_cache_has_the_second_level_filled_and_the_next_is_made_from_it(
    reader, authors, rung, monkeypatch
):
    ids = ids_of(reader)
    home_timeline(reader, Cursor())
    assert rung == [("apps.second_level.tasks.fill", reader.pk, None)]
    for _twice in range(2):
        fill(reader.pk)
    assert TimelineSpan.objects.get().length == len(ids)
    new = publish(authors[0]).pk
    timelines().flushdb()
    with monkeypatch.context() as patch:
        patch.setattr(outbox, "newest_ids_of_followees", None)  # nobody asks the outboxes
        assert walk(reader) == [new, *ids]
    TimelineSpan.objects.update(floor=ids[PAGE])  # does not reach down to the end
    timelines().flushdb()
    assert walk(reader) == [new, *ids]


@pytest.mark.slow
def test_a_bell_that_is_lost_costs_no_page(small_windows, reader, far_apart, monkeypatch):
    def broken(*_message, **_options):
        raise OSError

    monkeypatch.setattr(current_app, "send_task", broken)
    assert walk(reader) == Oracle().home(reader.pk)
    assert not TimelineSpan.objects.exists()
