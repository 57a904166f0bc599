"""One key is one effect, whoever repeats it, whoever dies in between."""

import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from apps.accounts.queries import user_by_id
from apps.pagination import Cursor
from apps.posts.actions import idempotency
from apps.posts.actions.drafts import Draft
from apps.posts.actions.schedule import cancel, schedule_post
from apps.posts.models import IdempotencyKey, Post, ScheduledPost
from apps.timeline.home import home_timeline
from tests.support.factories import make_user, publish, published
from tests.support.processes import environment
from tests.support.threads import together

pytestmark = pytest.mark.django_db

# Publishes with a key, and dies at the named moment.
_DYING = """
import os, signal, django
django.setup()
from django.db import transaction
from apps.accounts.queries import user_by_handle
from apps.posts.actions import publish
from apps.posts.actions.drafts import Draft
die = lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL)
if {when!r} == "before the commit":
    transaction.Atomic.__exit__ = die
else:
    publish.cache_published = lambda *args: transaction.on_commit(die)
publish.publish_post(user_by_handle("alice"), Draft("hello"), idempotency_key="client:k")
"""


@pytest.mark.flows
@pytest.mark.parametrize("when", ["before the commit", "after the commit"])
def test_a_request_whose_worker_was_killed_is_done_once(transactional_db, api_of, when):
    alice = make_user("alice")
    assert ids_on_home(alice) == []  # her window is there
    died = subprocess.run(
        [sys.executable, "-c", _DYING.format(when=when)], env=environment(), check=False
    )
    assert died.returncode == -signal.SIGKILL
    before = list(Post.objects.values_list("pk", flat=True))
    assert len(before) == (0 if when == "before the commit" else 1)
    answer = send(api_of(alice), "hello")
    assert answer.status_code == 200
    assert [str(pk) for pk in Post.objects.values_list("pk", flat=True)] == [answer.json()["id"]]
    assert answer.headers.get("Idempotency-Replayed") == ("true" if before else None)
    assert ids_on_home(alice) == [int(answer.json()["id"])], "before any delivery"


def ids_on_home(user):
    return [item.id for item in home_timeline(user_by_id(user.pk), Cursor()).items]


def send(client, text, key="k", **more):
    return client.post(
        "/api/v1/statuses",
        {"status": text, **more},
        format="json",
        headers={"Idempotency-Key": key},
    )


@pytest.mark.slow
def test_fifty_parallel_requests_are_one_post_and_one_answer(transactional_db, api_of):
    alice = make_user("alice")
    clients = [api_of(alice) for _ in range(50)]
    answers = together(50, lambda number: send(clients[number], "hello @nobody"))
    assert Post.objects.count() == IdempotencyKey.objects.count() == 1
    # 503: so many writes at once have no seats (feedsite.middleware.load_shedding), and nothing was done for it
    assert {answer.status_code for answer in answers} <= {200, 409, 503}
    made = [answer for answer in answers if answer.status_code == 200]
    assert len({answer.json()["id"] for answer in made}) == 1
    assert sum("Idempotency-Replayed" not in answer.headers for answer in made) == 1


def test_while_a_request_is_worked_on_its_repetition_is_told_so(
    transactional_db, api_of, monkeypatch
):
    monkeypatch.setattr(idempotency, "IN_FLIGHT_SECONDS", 0.1)
    alice = make_user("alice")
    request = idempotency.Request(alice, "client:k", Draft("hello"))

    def first():
        with transaction.atomic():
            idempotency.claim(request)
            return together(1, lambda _number: send(client, "hello"))[0]

    client = api_of(alice)
    answer = first()
    assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_key_in_flight")
    assert send(client, "hello").status_code == 200


def test_the_same_key_with_another_request_is_refused(alice, carol, api_of):
    made = send(api_of(alice), "hello").json()["id"]
    assert send(api_of(alice), " hello\n").json()["id"] == made
    for other in ({"status": "other"}, {"visibility": "unlisted"}, {"spoiler_text": "cats"}):
        answer = send(api_of(alice), text=other.pop("status", "hello"), **other)
        assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")
    assert send(api_of(carol), "hello").json()["id"] != made
    assert send(api_of(alice), "hello", key="k" * 201).status_code == 422
    assert send(api_of(alice), "hello", key="another").json()["id"] != made


def test_scheduled_posts_are_scheduled_once(alice, api_of):
    at = (timezone.now() + timedelta(hours=1)).isoformat()
    answers = [send(api_of(alice), "later", scheduled_at=at) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert ScheduledPost.objects.count() == 1
    assert send(api_of(alice), "later").status_code == 422  # now is another request
    cancel(alice, int(answers[0].json()["id"]))
    assert send(api_of(alice), "later").status_code == 200


def test_a_key_of_the_clients_is_not_one_of_the_sites(alice, api_of):
    row = schedule_post(alice, Draft("Later."), timezone.now() + timedelta(hours=1))
    send(api_of(alice), "Now.", key=f"scheduled:{row.pk}")
    later = published(alice, "Later.", idempotency_key=f"scheduled:{row.pk}")
    assert later.post.body == "Later."
    assert later.content is not None


def test_old_keys_are_forgotten_and_their_posts_stay(alice):
    for key in ("old", "older", "new"):
        publish(alice, key, idempotency_key=key)
    long_ago = timezone.now() - idempotency.RETENTION - timedelta(minutes=1)
    IdempotencyKey.objects.exclude(key="new").update(created_at=long_ago)
    assert [idempotency.purge_keys() for _turn in range(2)] == [2, 0]
    assert [row.key for row in IdempotencyKey.objects.all()] == ["new"]
    assert Post.objects.count() == 3
