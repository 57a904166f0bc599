"""Announcements are heard by those who listen, after the commit, and cost nothing when nobody can be told."""

import asyncio
import threading
from contextlib import suppress

import pytest
from django.db import transaction

from apps.accounts.actions import issue_token, revoke_token
from apps.accounts.models import AccessToken
from apps.events.live import announce, read, subscribe
from feedcache.connections import reset_breakers
from runner.services.service import restart
from tests.support.factories import suspend
from tests.support.services import running

pytestmark = pytest.mark.django_db


def heard_while(act, number):
    """What is heard, by a thread that listens, of what `act` announces."""
    messages, listens = [], threading.Event()

    async def listen():
        async for message in subscribe():
            if message is None:
                listens.set()
            else:
                messages.append(read(message))
            if len(messages) == number:
                break

    thread = threading.Thread(target=lambda: asyncio.run(asyncio.wait_for(listen(), 20)))
    thread.start()
    assert listens.wait(10)
    act()
    thread.join(20)
    return messages


def test_what_is_announced_is_heard_once_it_is_committed():
    def act():
        with suppress(RuntimeError), transaction.atomic():
            announce("never", post_id=1)
            raise RuntimeError
        with transaction.atomic():
            announce("post_published", post_id=2**62)

    assert heard_while(act, 1) == [("post_published", {"post_id": 2**62})]


def test_the_end_of_a_token_is_announced(alice, bob):
    issue_token(alice, name="test")

    def act():
        revoke_token(alice, AccessToken.objects.get(user=alice).pk)
        suspend(bob)

    told = [("tokens_ended", {"user_id": user.pk}) for user in (alice, bob)]
    assert heard_while(act, 2) == told


def test_without_redis_nobody_is_told_and_nothing_fails():
    redis = running().redis
    assert redis is not None
    redis.stop()
    try:
        announce("post_published", post_id=1)
    finally:
        restart(redis)
        reset_breakers()
