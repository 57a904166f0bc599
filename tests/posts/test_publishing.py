"""What a publication costs: the same whoever follows; and its answer, which is what everybody reads afterwards."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.graph.actions import follow_user
from tests.support.factories import deliver, make_user, publish

# The lock of the author, the post, its counts, the author's counts, the events.
PLAIN = ["BEGIN", "SELECT", "INSERT", "INSERT", "UPDATE", "INSERT", "COMMIT"]
# The key is looked for, taken, looked for again under its lock, and kept.
KEYED = ["SELECT", "BEGIN", "SELECT", "SELECT", "SELECT", "INSERT", "INSERT", "INSERT", "UPDATE", "INSERT", "COMMIT"]  # fmt: skip


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
        token, *sent = [one["sql"] for one in queries.captured_queries]
        assert "accesstoken" in token
        assert [sql.split()[0] for sql in sent] == statements


@pytest.mark.django_db
@pytest.mark.parametrize(
    "asked",
    [
        {"status": "hello @bob, #tag"},
        {"status": "hello", "spoiler_text": "careful", "language": "de", "sensitive": True},
        {"status": "hello", "visibility": "unlisted"},
        {"status": "hello", "visibility": "private"},
        {"status": "hello @bob", "visibility": "direct"},
        {"status": "hello", "in_reply_to_id": "parent"},
        {"status": "hello", "quoted_status_id": "parent"},
        {"status": "hello", "poll": {"options": ["a", "b"], "expires_in": 600}},
    ],
)
def test_the_answer_is_what_is_read_afterwards(alice, bob, api_of, asked):
    parent = str(publish(bob, "first").pk)
    client = api_of(alice)
    body = {name: parent if value == "parent" else value for name, value in asked.items()}
    for _time in range(2):  # the author's first post, and one that is not
        answer = client.post("/api/v1/statuses", body, format="json").json()
        assert client.get(f"/api/v1/statuses/{answer['id']}").json() == answer
