"""Readers and accounts with tens of thousands of relations: nobody waits for them, and they are right."""

from dataclasses import replace

import pytest
from django.db import connection

from apps.graph import cache
from apps.graph.actions import follow_user, unfollow_user
from apps.graph.cache import RELATIONS
from apps.graph.models import Followee
from apps.graph.queries import relations
from apps.posts.queries import visible_posts
from feedcache.connections import graph
from tests.graph.warm import cached, from_truth
from tests.support.factories import make_user, publish

MANY = 20_000


@pytest.fixture(autouse=True)
def _real_commits(transactional_db, settings):
    """What is kept is stored after a commit, so there must be some."""
    settings.MAX_FOLLOWEES = MANY * 10


def key_of(user):
    return RELATIONS.key(user.pk, "following")


def give_followees(user, number):
    """So many accounts, followed in bulk."""
    with connection.cursor() as sql:
        sql.execute(
            "WITH made AS (INSERT INTO accounts_user (handle, password, display_name, bio, avatar, interface_language,"
            " theme, text_size, is_staff, is_active, is_superuser, suspension_reason, created_at)"
            " SELECT 'many' || n, '!', '', '', '', '', 'auto', 'normal', false, true, false, '', now()"
            " FROM generate_series(1, %s) AS n RETURNING id), counted AS (INSERT INTO accounts_usercounts"
            " (user_id, followers, following, posts, last_post_id) SELECT id, 1, 0, 0, 0 FROM made),"
            " followed AS (INSERT INTO graph_followee (owner_id, followee_id, created_at)"
            " SELECT %s, id, now() FROM made), mirrored AS ("
            "INSERT INTO graph_follower (owner_id, follower_id, created_at)"
            " SELECT id, %s, now() FROM made) UPDATE accounts_usercounts SET following = %s WHERE user_id = %s",
            [number, user.pk, user.pk, number, user.pk],
        )
    return list(Followee.objects.filter(owner=user).values_list("followee_id", flat=True))


@pytest.mark.long
def test_a_reader_of_twenty_thousand_holds_nobody_up(alice, carol, monkeypatch):
    ids = give_followees(alice, MANY)
    post = publish(carol)
    slow = []
    before = graph().config_get("slowlog-log-slower-than")["slowlog-log-slower-than"] or 0
    graph().config_set("slowlog-log-slower-than", 10_000)
    try:
        for _attempt in range(3):  # what is slow because the machine is busy is not slow thrice
            graph().delete(key_of(alice))
            graph().slowlog_reset()
            assert relations(alice.pk, ids[:1000]).following == set(ids[:1000])
            follow_user(alice, carol)
            assert visible_posts(alice.pk, [post.pk]).relations.following == {carol.pk}
            unfollow_user(alice, carol)
            slow.append({entry["command"].split()[0] for entry in graph().slowlog_get()})
    finally:
        graph().config_set("slowlog-log-slower-than", before)
    assert set.intersection(*slow) == set()
    assert (graph().memory_usage(key_of(alice)) or 0) / MANY <= 10


@pytest.mark.long
def test_a_follow_moves_the_same_bytes_for_a_reader_of_two_and_of_twenty_thousand(
    alice, bob, carol
):
    """Command trace of source 002: one more followee must not move the other two thousand."""
    give_followees(alice, MANY)
    spent = {}
    for reader in (bob, alice):
        cached(reader, [carol])
        follow_user(reader, carol)  # the scripts are known from here on
        unfollow_user(reader, carol)
        with graph().monitor() as monitor:
            listener = monitor.listen()
            follow_user(reader, carol)
            graph().echo("done")
            trace = []
            for heard in listener:
                if heard["command"].startswith("ECHO"):
                    break
                trace.append(heard["command"])
        written = [line for line in trace if "rel:2" in line]
        assert {line.split()[0] for line in written} <= {
            "EVALSHA", "SMISMEMBER", "SADD", "SREM", "SCARD", "ZSCORE",
        }  # fmt: skip
        spent[reader.pk] = sum(map(len, written))
    assert abs(spent[alice.pk] - spent[bob.pk]) < 100
    assert spent[alice.pk] < 4000
    assert cached(alice, [carol]).following == {carol.pk}


@pytest.mark.slow
def test_more_than_a_set_may_hold_is_right_and_asks_postgresql(alice, monkeypatch):
    others = [make_user() for _ in range(5)]
    small = replace(RELATIONS, maximum=3)
    monkeypatch.setattr(cache, "RELATIONS", small)
    monkeypatch.setattr("apps.graph.queries.RELATIONS", small)
    for one in others:
        follow_user(alice, one)
    for _ in range(2):
        assert cached(alice, others) == from_truth(alice, others)
    assert graph().scard(key_of(alice)) == 2  # the fence, and the word that there are too many
    for one in others[:3]:
        unfollow_user(alice, one)
        assert cached(alice, others) == from_truth(alice, others)
    assert graph().scard(key_of(alice)) == 3
