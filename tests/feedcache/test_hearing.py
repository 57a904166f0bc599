"""The listener of a process passes on what it hears on other channels."""

import pytest

from feedcache.connections import timelines
from feedcache.servers.topology_listener import CHANNEL, Listener, publish
from feedcache.topology import Node, Topology
from tests.support.waiting import wait_until

SOON = 3.0


@pytest.fixture
def listener():
    made = Listener(Topology(), role="test")
    yield made
    made.stop()


@pytest.fixture
def heard(listener):
    """What was heard on the channel `news`."""
    messages: list[bytes | None] = []
    listener.subscribe_channel("news", messages.append)
    return messages


def subscribed(channel):
    return wait_until(
        lambda: timelines().pubsub_numsub(channel)[0][1] == 1, "somebody listens to the channel"
    )


def test_messages_are_passed_on_and_a_beginning_may_have_missed_some(listener, heard):
    listener.start()
    assert subscribed("news")
    timelines().publish("news", "one")
    timelines().publish("news", b"\xfftwo")
    wait_until(lambda: heard == [None, b"one", b"\xfftwo"], "both messages are heard")


@pytest.mark.slow
def test_a_channel_may_be_added_while_the_thread_runs(listener):
    listener.start()
    assert subscribed(CHANNEL)
    messages: list[bytes | None] = []
    listener.subscribe_channel("later", messages.append)
    assert subscribed("later")
    timelines().publish("later", "one")
    wait_until(lambda: messages == [None, b"one"], "the message is heard")


def test_a_thread_that_starts_again_may_have_missed_some(listener, heard):
    for start in (1, 2):
        listener.start()
        wait_until(lambda start=start: heard == [None] * start, "it has begun")
        listener.stop()


def test_a_connection_that_ended_may_have_missed_some(listener, heard):
    """The client connects and subscribes again by itself."""
    listener.start()
    wait_until(lambda: heard == [None], "it has begun")
    timelines().client_kill_filter(_type="pubsub")
    wait_until(lambda: heard == [None, None], "it has begun again")
    timelines().publish("news", "one")
    wait_until(lambda: heard[-1] == b"one", "the message is heard")


def test_other_news_do_not_keep_the_topology_waiting(listener, heard):
    listener.start()
    assert subscribed("news")
    for number in range(50):
        timelines().publish("news", str(number))
    publish(Topology(version=3, main=(Node("a", "10.0.0.1:1", 64, 1),)))
    wait_until(lambda: listener.topology.version == 3, "the topology is heard")
    wait_until(lambda: len(heard) == 51, "all messages are heard")


@pytest.mark.slow
def test_a_callback_that_fails_does_not_end_the_thread(listener, heard, caplog):
    def fails(message):
        if message is not None:
            raise ValueError("no")

    listener.subscribe_channel("broken", fails)
    listener.start()
    assert subscribed("broken")
    timelines().publish("broken", "one")
    wait_until(lambda: "it continues" in caplog.text, "the listener has stumbled")
    wait_until(lambda: heard == [None, None], "it has begun again")  # it began again
    assert subscribed("news")
    timelines().publish("news", "two")
    wait_until(lambda: heard[-1] == b"two", "the next message is heard")
