"""What every kind of page may cost: SQL statements, round trips to the caches, what is sent to them, and its own bytes.

Twenty posts, warm, by a reader who marked nothing. A number that has to grow grows here, where somebody sees it.
"""

import gzip
from itertools import cycle
from typing import NamedTuple

import pytest
from django.db import connection
from django.template.base import Node
from django.test.utils import CaptureQueriesContext

from apps.accounts.cache import VIEWERS
from apps.engagement.cache import BOOKMARKS, LIKES
from apps.engagement.tasks import maintain_filters
from apps.graph.actions import follow_user
from apps.graph.cache import GRAPH_REVISION
from apps.posts.actions.drafts import Draft
from apps.timeline import publishing
from apps.timeline.fanout import switch
from apps.timeline.models import Policy
from apps.web.urls import urlpatterns
from feedcache.memcached_tiers import tiers, use_topology
from feedcache.structures import bloom
from feedcache.topology import Node as Server
from feedcache.topology import Topology
from tests.feedcache.pools import started
from tests.support.factories import deliver, make_user, publish
from tests.support.waiting import wait_until
from tests.support.waves import relayed
from tools.bench.site import trips

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("memcached")]
POSTS = 20


class Budget(NamedTuple):
    """The most of each: SQL statements; waves of requests to caches;
    bytes sent to them; bytes of the answer, compressed.
    """

    sql: int
    trips: int
    asked: int
    answered: int


BUDGETS = {
    # Trips: who asks, the limit, what stands and the ids, the posts.
    "/api/v1/timelines/home": Budget(0, 4, 6_000, 4_000),
    "/api/v1/accounts/{author}/statuses": Budget(2, 5, 6_000, 4_000),
    "/api/v1/statuses/{post}/context": Budget(2, 5, 6_000, 4_000),
    # SQL: the badge
    "/": Budget(1, 4, 6_000, 12_000),
    # whose profile with what is between the two and the badge, and the outbox, which is young;
    # or the thread, and the badge
    # its handle, then its rows, which may be on another server
    "/@alice": Budget(3, 3, 6_000, 12_000),
    "/@alice/{post}": Budget(2, 4, 8_000, 8_000),
}


def _built():
    maintain_filters()
    return all(bloom.read_state(marks.name).live for marks in (LIKES, BOOKMARKS))


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("pattern", BUDGETS)
def test_a_page_keeps_to_its_budget(
    pattern, alice, bob, page_of, api_of, settings, django_assert_max_num_queries
):
    budget = BUDGETS[pattern]
    posts = [publish(alice, f"Number {number}.") for number in range(POSTS)]
    deliver()
    address = pattern.format(author=alice.pk, post=posts[0].pk)
    client = api_of(bob) if address.startswith("/api") else page_of(bob)
    with relayed(settings, apart=False) as waves:
        wait_until(_built, "the existence filters are built")
        for _warm in range(3):
            client.get(address)
        with django_assert_max_num_queries(budget.sql), waves.counted() as sent:
            answer = client.get(address)
    assert answer.status_code == 200
    asked = sum(len(request) for wave in sent for _server, request in wave)

    assert len(sent) <= budget.trips
    assert asked <= budget.asked
    assert len(gzip.compress(answer.content)) <= budget.answered


@pytest.fixture
def groups_of_l1(memcached):
    """Main, and as many groups of L1 as requests are counted: each finds one that it has not asked before."""
    before, labels = tiers().topology, ["main", *(f"l1-{n}" for n in range(PUBLICATIONS))]
    with started(labels) as servers:
        main, *groups = ((Server(label, one.address, 64),) for label, one in servers.items())
        use_topology(Topology(before.version, main, (), tuple(groups), epoch=before.epoch))
        yield tiers().groups
        use_topology(before)


PUBLICATIONS = 3


@pytest.mark.django_db(transaction=True)
def test_a_publication_keeps_to_its_trips(alice, api_of, groups_of_l1, monkeypatch):
    """Who asks and the limits; the rows, in a transaction; and the caches, outbox included, after the commit."""
    client = api_of(alice)

    def publication():
        assert client.post("/api/v1/statuses", {"status": "Hello."}).status_code == 200

    for _warm in range(
        3
    ):  # the first of a day is news for the author's card; a token is read twice
        publication()
    groups = cycle(groups_of_l1)
    monkeypatch.setattr("feedcache.memcached_tiers.random.choice", lambda _groups: next(groups))
    for _number in range(PUBLICATIONS):
        with trips.counted() as found, CaptureQueriesContext(connection) as statements:
            publication()
        assert found.by_server[trips.OTHER] <= 2  # the nodes of this test
        assert found.by_server[trips.REDIS] <= 2
        assert found.trips - found.by_server[trips.BROKER] <= 2  # both at the same time
        assert len(statements) <= 4


# Trips: as home; and whom of the pulled authors the reader follows, and their outboxes.
PULLED = Budget(0, 6, 6_000, 4_000)


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("by", ["an author", "the site"])
def test_home_with_pulled_authors_asks_no_sql(
    by, alice, bob, carol, api_of, settings, django_assert_num_queries
):
    """Also right after a publication, and whoever else publishes."""
    for author in (alice, carol):
        follow_user(bob, author)
    if by == "the site":
        switch.set_site_policy(Policy.PULL, by="a test")
    else:
        switch.set_author_policy(alice, Policy.PULL, by="a test")
    posts = [publishing.publish(alice, Draft(body=f"Number {number}.")) for number in range(POSTS)]
    deliver()
    client, address = api_of(bob), "/api/v1/timelines/home"
    with relayed(settings, apart=False) as waves:
        wait_until(_built, "the existence filters are built")
        for _warm in range(3):
            client.get(address)
        for text in (None, "One more."):
            if text:
                posts.append(publishing.publish(alice, Draft(body=text)))
            with django_assert_num_queries(PULLED.sql), waves.counted() as sent:
                answer = client.get(address)
            shown = [int(status["id"]) for status in answer.json()]
            assert shown == [post.post.pk for post in posts[: -POSTS - 1 : -1]]
            assert len(sent) <= PULLED.trips
            assert sum(len(request) for wave in sent for _server, request in wave) <= PULLED.asked
            assert len(gzip.compress(answer.content)) <= PULLED.answered


def test_a_thread_takes_the_revision_of_its_reader_from_the_account(alice, bob, page_of, settings):
    post, client = publish(alice, "Tea."), page_of(bob)
    with relayed(settings, apart=False) as waves:
        client.get(f"/@alice/{post.pk}")
        with waves.counted() as sent:
            client.get(f"/@alice/{post.pk}")
    asked = b"".join(request for wave in sent for _server, request in wave)
    assert VIEWERS.name.encode() in asked
    assert GRAPH_REVISION.name.encode() not in asked


# The template nodes of a warm page, each of which takes as long as ten lines of Python; cached cards have none.
NODES = {"/": 71, "/@alice": 62, "/@alice/{post}": 43}


@pytest.mark.long
@pytest.mark.parametrize("pattern", NODES)
def test_a_page_renders_few_nodes(pattern, alice, bob, page_of, monkeypatch, caplog):
    follow_user(bob, alice)
    posts = [publish(alice, f"Number {number}.") for number in range(POSTS + 1)]
    deliver()
    address, client = pattern.format(post=posts[0].pk), page_of(bob)
    for _warm in range(3):
        client.get(address)
    rendered, render = [], Node.render_annotated

    def counted(node, context):
        rendered.append(node)
        return render(node, context)

    monkeypatch.setattr(Node, "render_annotated", counted)
    with caplog.at_level("DEBUG", "django.template"):
        client.get(address)
    assert 0 < len(rendered) <= NODES[pattern]
    # a name that is missing costs several exceptions
    assert [
        record.getMessage() for record in caplog.records if record.name == "django.template"
    ] == []


def test_the_busiest_pages_are_tried_first():
    assert [route.name for route in urlpatterns[:2]] == ["front", "post"]


MAX_HTML = 61_440  # 60 KB
WORDS = "A morning at the river: fog, two herons, and a man who sells tea from a boat since 1987. "


@pytest.mark.long
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_home_does_not_grow_heavy(language, alice, bob, page_of):
    """Twenty posts of the usual length by several people; nothing of it compressed."""
    authors = [
        alice,
        *(make_user(f"writer_{number}", display_name="Mei Lin") for number in range(4)),
    ]
    for author in authors:
        follow_user(bob, author)
    deliver()
    for number in range(POSTS):
        publish(authors[number % len(authors)], f"{WORDS}{number}", language="en")
    deliver()
    browser = page_of(bob)
    browser.cookies["lang"] = language
    page = browser.get("/")
    assert page.content.count(b"<article") == POSTS
    assert len(page.content) <= MAX_HTML
