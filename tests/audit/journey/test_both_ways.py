"""The same home page by push and by pull, with what each asked of the stores."""

import pytest

from apps.audit.journey.both_ways import home_both_ways
from apps.graph.actions import follow_user
from apps.pagination import Cursor
from apps.timeline.home import assemble_home
from apps.timeline.sources.home_cache import HOME
from tests.support.factories import deliver, make_user, publish

# what is not committed is not cached
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("memcached")]


@pytest.fixture
def reader(alice):
    """Who follows five authors of two posts each."""
    for _ in range(5):
        author = make_user()
        follow_user(alice, author)
        for number in range(2):
            publish(author, f"Number {number}.")
    deliver()
    alice.counts.refresh_from_db()
    return alice


@pytest.mark.slow
def test_both_pages_are_the_same_and_pulling_asks_more(reader):
    found = home_both_ways(reader)
    assert found.are_equal
    assert len(found.push.post_ids) == 10
    assert found.outboxes == 6
    assert found.push.requests["redis"] > 0
    assert found.push.requests["memcached"] < found.pull.requests["memcached"]
    assert found.push.total < found.pull.total


@pytest.mark.slow
def test_a_page_is_pulled_without_its_home_cache(reader):
    """Or the numbers would be those of a page that was pushed all the same."""
    HOME.drop(reader.pk)
    page = assemble_home(reader, Cursor(), exclude_read=False, pulls_all=True).page
    assert len(page.items) == 10
    assert not HOME.exists(reader.pk)


@pytest.mark.slow
def test_the_page_shows_it_to_whom_the_journey_is_shown(reader, page_of):
    post = publish(reader)
    deliver()
    page = page_of(reader).get(f"/explain/{post.pk}/journey?both=1").content.decode()
    assert "Both pages are the same: 11 posts." in page
    part = page_of(reader).get(f"/explain/{post.pk}/journey?both=1", headers={"HX-Request": "true"})
    assert part.content.decode().strip().startswith("<table")
    assert page_of(make_user()).get(f"/explain/{post.pk}/journey?both=1").status_code == 403
