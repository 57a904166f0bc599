"""The path to merged authors hangs: everybody still gets the rest of their home,
marked, and what is missing comes later.
"""

import threading

import pytest

from apps.accounts.queries import user_by_id
from apps.deadline import budget, missing
from apps.graph.actions import follow_user
from apps.pagination import Cursor
from apps.timeline.fanout.switch import set_author_policy
from apps.timeline.home import home_timeline
from apps.timeline.models import Policy
from apps.timeline.sources import outbox, pulled_authors
from feedcache.breaker import Bulkhead
from tests.support.factories import deliver, delivered, make_user, publish
from tests.support.pages import EMPTY

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def star(bob):
    """A large account that is pulled, followed by bob, who is online."""
    star = make_user("star")
    follow_user(bob, star)
    deliver()
    home_timeline(bob, Cursor())
    set_author_policy(star, Policy.PULL, by="the test")
    deliver()
    return star


@pytest.fixture
def hanging(monkeypatch, settings):
    """The outboxes of merged authors hang until the test lets go."""
    settings.MERGED_AUTHORS_SECONDS = 0.1
    let_go, read = threading.Event(), outbox.ids_of_authors

    def hang(*args, **options):
        assert let_go.wait(30)
        return read(*args, **options)

    monkeypatch.setattr(
        pulled_authors,
        "PULLED",
        Bulkhead(pulled_authors.SOURCE, max_concurrency=2, after=pulled_authors.PULLED._after),
    )
    monkeypatch.setattr(outbox, "ids_of_authors", hang)
    yield let_go
    let_go.set()


def home(user):
    with budget(30):
        page = home_timeline(user_by_id(user.pk), Cursor())
        return [item.id for item in page.items], missing()


def test_what_is_in_the_windows_is_shown_and_the_rest_comes_later_in_order(
    alice, bob, star, hanging, monkeypatch
):
    first, hot, last = publish(alice, "a"), publish(star, "hot"), delivered(alice, "b")
    for _reader in range(10):  # the first waits a moment, the others not at all
        ids, lacking = home(bob)
        assert ids == [post.pk for post in sorted([first, last], key=lambda post: -post.pk)]
        assert lacking == [pulled_authors.SOURCE]
    hanging.set()
    monkeypatch.setattr(
        pulled_authors, "PULLED", Bulkhead(pulled_authors.SOURCE, max_concurrency=2)
    )
    ids, lacking = home(bob)
    assert ids == sorted([first.pk, hot.pk, last.pk], reverse=True)
    assert lacking == []


def test_the_answer_says_so_to_people_and_programs(alice, bob, star, hanging, api_of, page_of):
    publish(alice, "still here")
    publish(star, "hot")
    deliver()
    answer = api_of(bob).get("/api/v1/timelines/home")
    assert (answer.status_code, answer.headers["X-Feed-Degraded"]) == (200, pulled_authors.SOURCE)
    page = page_of(bob).get("/home")
    assert page.status_code == 200
    assert 'class="end-of-list" role="status"' in page.content.decode()
    assert "still here" in page.content.decode()
    assert 'class="end-of-list">' not in page.content.decode()


def test_an_empty_page_that_lacks_a_source_does_not_say_that_there_is_nothing(
    bob, star, hanging, page_of
):
    delivered(star, "hot")
    page = page_of(bob).get("/").content.decode()
    assert 'class="end-of-list" role="status"' in page
    assert EMPTY not in page


def test_who_follows_no_merged_author_notices_nothing(alice, bob, carol, star, hanging):
    follow_user(carol, alice)
    deliver()
    post = delivered(alice)
    assert home(carol) == ([post.pk], [])


def test_active_readers_are_not_touched_when_nobody_is_merged(alice, bob, hanging):
    post = delivered(alice)
    assert home(bob) == ([post.pk], [])
