"""How long what the timelines keep lives, where the articles say nothing or several things:
settings, and what they do.
"""

from dataclasses import replace

import pytest
from django.conf import settings

from apps.timeline.sources.home_cache import HOME, INBOX
from apps.timeline.sources.outbox import LONG_OUTBOXES, SHORT_OUTBOXES
from feedcache.connections import timelines
from tests.support.waiting import wait_until

DAY = 24 * 3600


def test_lives_by_default():
    assert (HOME.ttl_seconds, INBOX.ttl_seconds) == (3 * DAY, 3 * DAY)
    assert (SHORT_OUTBOXES.ttl_seconds, LONG_OUTBOXES.ttl_seconds) == (7 * DAY, 7 * DAY)
    assert settings.TIMELINE_ENTRY_DAYS == 60


@pytest.mark.long
def test_a_short_life_ends_and_reads_begin_it_anew():
    short = replace(HOME, ttl_seconds=900)
    token = short.begin(7)
    assert token is not None
    assert short.swap(7, token, [5, 4], complete=True)
    (key,) = timelines().keys("home:*")
    timelines().expire(key, 50)
    short.push([7], [6])  # keeps nobody online
    assert timelines().ttl(key) <= 50
    assert short.read(7, newest=None, oldest=0, count=5) is not None
    assert 800 < timelines().ttl(key) <= 900
    timelines().pexpire(key, 1)
    wait_until(lambda: not short.exists(7), "its life is over")
    assert short.push([7], [8]) == (0, 1)
    assert timelines().keys("home:*") == [b"home:2:{0}:away"]
