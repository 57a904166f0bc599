"""What `./run bench policies` counts: what the stores did, by their own counts."""

import re

import pytest

from apps.accounts.models import UserCounts
from apps.timeline.models import Policy
from feedcache.connections import graph
from feedcache.memcached_tiers import tiers
from feedcache.redis_clients import run_script
from tests.support.factories import make_user
from tools.bench.policies import POLICIES, readers, table

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("memcached"), pytest.mark.long]


def test_statements_commands_and_keys_are_counted_by_what_they_do():
    tiers().set_many({"warm": b"1"}, ttl_seconds=60)
    table.prepare()
    user = make_user("counted")

    def work():
        list(type(user).objects.select_for_update().filter(pk=user.pk))
        UserCounts.objects.filter(user=user).update(posts=1)
        graph().get("a")
        run_script(
            graph(), "redis.call('SET', KEYS[1], 1) return redis.call('GET', KEYS[1])", ["b"]
        )
        tiers().set_many({"x": b"1", "y": b"2"}, ttl_seconds=60)

    done = table.work_of(work)
    assert (done.sql_reads, done.rows_read) == (1, 1), "a lock is a read"
    assert (done.sql_writes, done.rows_written) == (1, 1)
    assert (done.redis_reads, done.redis_writes) == (2, 1), "those of the script too"
    assert done.memcached_writes >= 4, "two keys in two tiers"
    assert (done.reads, done.writes) == (
        done.rows_read + 2 + done.memcached_reads,
        2 + done.memcached_writes,
    )


def test_the_work_of_each_policy_is_counted(monkeypatch, settings, tmp_path):
    settings.RATE_LIMITS = settings.RATE_LIMITS  # what the bench sets ends with the test
    for name, number in (("AUTHORS", 4), ("POSTS_EACH", 3), ("READERS", 10), ("FOLLOWEES", 3),
                         ("PUBLICATIONS", 2), ("READS_A_WRITE", 20), ("AUTO_PULL_FOLLOWERS", 5)):  # fmt: skip
        monkeypatch.setattr(table, name, number)
    monkeypatch.setattr(table, "_people", table._people.__wrapped__)
    people = table._people()
    monkeypatch.setattr(table, "_people", lambda: people)
    lines = {part: table.run(part, tmp_path) for part in POLICIES}
    assert set(POLICIES) == {policy.value for policy in Policy if policy != Policy.SITE}
    kept = {part: found[2].figures for part, found in lines.items()}
    publish = {part: found[0].figures for part, found in lines.items()}
    refresh = {part: found[1].figures for part, found in lines.items()}
    assert kept["pull"]["copies of a post"] == 0 < kept["online"]["copies of a post"]
    assert kept["pull"]["home caches, KiB"] == 0 < kept["push"]["home caches, KiB"]
    assert kept["push"]["second level, KiB"] > kept["online"]["second level, KiB"] == 0
    assert publish["pull"]["redis writes"] < publish["online"]["redis writes"]
    assert (
        refresh["pull"]["rows read"] > refresh["online"]["rows read"]
    )  # a transaction believes no cache
    assert re.search("pulled authors: [1-9]", lines["auto"][0].note)


def test_a_reader_of_many_sees_the_same_page_both_ways(monkeypatch, settings, tmp_path):
    settings.MERGED_AUTHORS_SECONDS = settings.MERGED_AUTHORS_SECONDS  # ends with the test
    for name, value in (
        ("FOLLOWEES", (3, 6)),
        ("POSTS_EACH", 4),
        ("ROUNDS", 1),
        ("COLD_ROUNDS", 1),
    ):
        monkeypatch.setattr(readers, name, value)
    lines = {line.what: line.figures for line in readers.run("readers", tmp_path)}
    push, pull = (lines[f"{way}, 6 followees: a page, warm"] for way in ("push", "pull"))
    assert push["SQL statements"] == 0
    assert pull["Memcached keys"] > push["Memcached keys"] > 0
    assert pull["KiB stored for this reader only"] == 0 < push["KiB stored for this reader only"]
