"""How long what the timelines keep lives, where the articles say nothing or several things:
settings, and what they do.
"""

import time
from dataclasses import replace

import pytest
from django.conf import settings

from apps.timeline.sources.home_cache import HOME, INBOX
from apps.timeline.sources.outbox import LONG_OUTBOXES, SHORT_OUTBOXES
from feedcache.connections import timelines

DAY = 24 * 3600


def test_lives_by_default():
    assert (HOME.ttl_seconds, INBOX.ttl_seconds) == (3 * DAY, 3 * DAY)
    assert (SHORT_OUTBOXES.ttl_seconds, LONG_OUTBOXES.ttl_seconds) == (7 * DAY, 7 * DAY)
    assert settings.TIMELINE_ENTRY_DAYS == 60


@pytest.mark.long
def test_a_short_life_ends_and_reads_begin_it_anew():
    short = replace(HOME, ttl_seconds=1)
    token = short.begin(7)
    assert token is not None
    assert short.swap(7, token, [5, 4], complete=True)
    for _ in range(3):
        time.sleep(0.6)
        assert short.read(7, newest=None, oldest=0, count=5) is not None
    for _ in range(30):  # pushes keep nobody online
        short.push([7], [6])
        time.sleep(0.05)
    assert not short.exists(7)
    assert short.push([7], [8]) == (0, 1)
    assert timelines().keys("home:*") == [b"home:2:{0}:away"]
