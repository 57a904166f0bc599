"""RabbitMQ as the broker, with quorum queues: publish, deliver, read, and a restart in the middle."""

import json
from typing import Any
from urllib.request import Request, urlopen

import pytest
from kombu import Connection

from apps.accounts.actions import issue_token
from apps.events.leases import State
from apps.events.models import Event
from apps.timeline.sources.home_cache import HOME
from runner.programs import QUEUES
from tests.flows.test_delivery import followers_online
from tests.support.processes import start_web, start_worker, stop
from tests.support.waiting import wait_until
from tools.scale.servers import RABBITMQ, rabbitmq

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not RABBITMQ.exists(), reason="no RabbitMQ on this machine"),
    pytest.mark.clusters,
    pytest.mark.flows,
]
POSTS = 12


@pytest.fixture
def broker(tmp_path, monkeypatch):
    with rabbitmq(tmp_path / "rabbitmq") as broker:
        monkeypatch.setenv("CELERY_BROKER_URL", broker.url)
        yield broker


@pytest.fixture
def site(broker, transactional_db, tmp_path):
    """A web server and a worker that know only this broker; the address of the web server."""
    worker = start_worker(tmp_path)
    web, address = start_web(tmp_path)
    yield address
    stop(web)
    stop(worker)


def send(address, token, path, **body):
    asked = Request(
        f"{address}/api/v1/{path}",
        data=json.dumps(body).encode() if body else None,
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urlopen(asked, timeout=30) as answer:
        return json.load(answer)


def test_posts_are_delivered_by_quorum_queues_and_a_restart_of_the_broker_loses_none(
    site, broker, alice, api_of
):
    readers = followers_online(alice, 3, api_of)
    token = issue_token(alice, name="test")
    first = int(send(site, token, "statuses", status="Before.")["id"])
    wait_until(
        lambda: all(HOME.ids(one.pk) == [first] for one in readers),
        "the first post is delivered",
        seconds=60,
    )
    assert_quorum_queues(broker)

    ids = [first]
    for number in range(POSTS):
        if number == POSTS // 3:
            broker.stop()  # what is published now has no message, or one that nobody takes
        if number == 2 * POSTS // 3:
            broker.start()
        ids.append(int(send(site, token, "statuses", status=f"Post {number}.")["id"]))
    ids.reverse()
    wait_until(
        lambda: all(HOME.ids(one.pk) == ids for one in readers),
        "all posts are delivered",
        seconds=60,
    )
    wait_until(
        lambda: not Event.objects.exclude(state=State.DONE).exists(),
        "all events are done",
        seconds=60,
    )
    reader = issue_token(readers[0], name="test")
    assert [int(one["id"]) for one in send(site, reader, "timelines/home")] == ids


def assert_quorum_queues(broker):
    """The broker refuses to declare a queue that is there with another type."""
    with Connection(broker.url) as connection:
        channel: Any = connection.default_channel
        for name in QUEUES.split(","):
            channel.queue_declare(name, passive=True)
            channel.queue_declare(
                name, durable=True, auto_delete=False, arguments={"x-queue-type": "quorum"}
            )
