"""What a publication costs: the same whoever follows; and its answer, which is what everybody reads afterwards."""

from collections import Counter
from itertools import dropwhile

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.cache import USER_COUNTS
from apps.graph.actions import follow_user
from apps.pagination import Cursor
from apps.posts.actions.drafts import Draft
from apps.timeline.home import home_timeline
from apps.timeline.publishing import publish as publish_and_show
from apps.timeline.sources import outbox, square
from apps.timeline.sources.home_cache import HOME
from apps.timeline.sources.square import EVERYBODY, SQUARE
from feedcache import stats
from feedcache.topology import Node, Topology
from tests.support.factories import deliver, make_user, publish
from tests.support.memory import forget
from tests.support.services import running

# The lock of the author; the post, its counts, mentions and events, and the author's counts.
PLAIN = ["BEGIN", "SELECT", "INSERT", "COMMIT"]
# The key is looked for, taken, looked for again under its lock, and kept.
KEYED = ["SELECT", "BEGIN", "SELECT", "SELECT", "SELECT", "INSERT", "INSERT", "COMMIT"]
MENTIONING = ["SELECT", *PLAIN]  # the handles
TAGGED = ["BEGIN", "SELECT", "SELECT", "INSERT", "INSERT", "COMMIT"]  # the tags, and their uses


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize(("key", "statements"), [("", PLAIN), ("k", KEYED)])
def test_it_is_the_same_statements_whoever_follows(transactional_db, api_of, key, statements):
    alice = make_user("alice")
    client = api_of(alice)
    for followers in (0, 1, 12):
        for _follower in range(followers):
            follow_user(make_user(), alice)
        deliver()
        with CaptureQueriesContext(connection) as queries:
            answer = client.post(
                "/api/v1/statuses",
                {"status": f"To {followers} more."},
                format="json",
                headers={"Idempotency-Key": f"{key}{followers}"} if key else {},
            )
        assert answer.status_code == 200
        # who asks: the token and the account, unless they are cached
        asked = dropwhile(
            lambda sql: (
                "accesstoken" in sql
                or sql.startswith(('SELECT "accounts_user"', "\nSELECT u.id, u.password"))
            ),
            (one["sql"] for one in queries.captured_queries),
        )
        sent = list(asked)
        assert [sql.split()[0] for sql in sent] == statements


@pytest.fixture
def warm(transactional_db, memcached, monkeypatch):
    """An author whose timelines are in the caches, and the calls of the stores from now on.

    With one tier of Memcached, because a round trip is a call of each.
    """
    forget(Topology(1, (Node("main", running().memcached[0].address, 64),)))
    alice = make_user("alice")
    make_user("bob")
    home_timeline(alice, Cursor())
    square.ids(None, Cursor(), 20)
    publish_and_show(alice, Draft(body="The first of the day has a #tag."))
    deliver()
    calls: Counter[str] = Counter()

    def count_call(backend, *_times, **_options):
        calls[backend.split()[0]] += 1

    monkeypatch.setattr(stats, "count_call", count_call)
    yield alice, calls
    forget()


@pytest.mark.parametrize(
    ("body", "statements"),
    [("Plain.", PLAIN), ("To @bob.", MENTIONING), ("A #tag.", TAGGED)],
)
def test_a_publication_asks_redis_twice_and_memcached_once(warm, body, statements):
    """Redis: the limit, and after the commit all that goes there. Memcached: the change of the author's outbox."""
    alice, calls = warm
    with CaptureQueriesContext(connection) as queries:
        post, revision, _content = publish_and_show(alice, Draft(body=body))
    assert [one["sql"].split()[0] for one in queries.captured_queries] == statements
    assert {store: calls[store] for store in ("redis", "memcached")} == {"redis": 2, "memcached": 1}
    assert HOME.ids(alice.pk)[0] == SQUARE.ids(EVERYBODY)[0] == post.pk
    vector = outbox.SHORT_OUTBOXES.peek_many([alice.pk])[alice.pk]
    assert (vector.revision, vector.ids[0]) == (revision, post.pk)
    counts = USER_COUNTS.store.records([alice.pk])[alice.pk]
    assert counts is not None
    assert counts.values == (0, 0, 2)


ANSWERED: list[dict[str, object]] = [
    {"status": "hello @bob, #tag"},
    {"status": "hello", "spoiler_text": "careful", "language": "de", "sensitive": True},
    {"status": "hello", "visibility": "unlisted"},
    {"status": "hello", "visibility": "private"},
    {"status": "hello @bob", "visibility": "direct"},
    {"status": "hello", "in_reply_to_id": "parent"},
    {"status": "hello", "quoted_status_id": "parent"},
    {"status": "hello", "poll": {"options": ["a", "b"], "expires_in": 600}},
]


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.django_db
def test_the_answer_is_what_is_read_afterwards(alice, bob, api_of, case):
    parent = str(publish(bob, "first").pk)
    client = api_of(alice)
    for asked in ANSWERED:
        body = {name: parent if value == "parent" else value for name, value in asked.items()}
        with case(**asked):
            for _time in range(2):  # the author's first post, and one that is not
                answer = client.post("/api/v1/statuses", body, format="json").json()
                assert client.get(f"/api/v1/statuses/{answer['id']}").json() == answer
