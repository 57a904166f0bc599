"""What-if: its counts are those of a real delivery, and its arithmetic follows from them."""

import json
from datetime import timedelta
from functools import cache

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from apps.events import actions as events
from apps.graph.actions import follow_user
from apps.pagination import Cursor
from apps.timeline.fanout import dispatch, unit_costs, what_if
from apps.timeline.fanout.cost import MeasuredCost
from apps.timeline.fanout.switch import set_author_policy
from apps.timeline.fanout.what_if import Audience, audience_of, delivery, forecast, with_followers
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk, FanoutJob, Mode, Policy
from apps.timeline.sources.home_cache import HOME
from feedcache.connections import timelines
from feedcache.structures import home_window
from feedcache.structures.home_window import READERS_PER_BITMAP
from tests.support.factories import deliver, delivered, make_user, publish
from tests.support.faults import dead_redis

pytestmark = pytest.mark.django_db

_WRITTEN = """
SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_xact_user_tables
WHERE relname LIKE 'timeline\\_%'
"""

_NEXT_BITMAP = (
    "SELECT setval('accounts_user_id_seq', (last_value / %s + 1) * %s) FROM accounts_user_id_seq"
)


@cache
def flags():
    return {name.lower(): about["flags"] for name, about in timelines().command().items()}


def counts():
    """Rows of the timelines' tables written in this transaction; commands of Redis that read, and that write."""
    with connection.cursor() as sql:
        sql.execute(_WRITTEN)
        [(rows,)] = sql.fetchall()
    ran = timelines().info("commandstats")
    commands = {name.removeprefix("cmdstat_"): stat["calls"] for name, stat in ran.items()}
    reads, writes = (
        sum(number for name, number in commands.items() if flag in flags().get(name, ()))
        for flag in ("readonly", "write")
    )
    return int(rows), reads, writes


def taken(author, policy):
    """What the delivery of one more post of an author took."""
    set_author_policy(author, policy, by="a test")
    deliver()  # a backfill, if there is one
    post = publish(author)
    events.run_due(limit=100)  # all but what is counted below
    FanoutJob.objects.filter(pk=post.pk).delete()
    before = counts()
    dispatch.start_job(post.pk)
    while dispatch.run_due(limit=100):
        pass
    return [after - one for after, one in zip(counts(), before, strict=True)]


def writer(followers, online):
    """An author with followers of whom some are online, evenly among them, and the others known to be away.

    The numbers of all are of one bitmap of presence: a sample of the newest followers does not know of another one.
    """
    with connection.cursor() as sql:
        sql.execute(_NEXT_BITMAP, [READERS_PER_BITMAP] * 2)
    author = make_user()
    readers = [make_user() for _ in range(followers)]
    for reader in readers:
        follow_user(reader, author)
    deliver()
    for number, reader in enumerate(readers):
        if number * online // followers < (number + 1) * online // followers:
            home_timeline(reader, Cursor())
    publish(author)
    deliver()  # marks who is away
    return author


@pytest.mark.long
@pytest.mark.parametrize("mode", [Mode.ONLINE, Mode.PUSH])
@pytest.mark.parametrize(("followers", "online"), [(50, 25), (45, 36), (24, 0)])
def test_the_counts_are_those_of_a_real_delivery(settings, monkeypatch, followers, online, mode):
    settings.FANOUT_CHUNK_SIZE = 20
    for module in (home_window, what_if):  # so that a chunk takes several scripts
        monkeypatch.setattr(module, "PUSH_BATCH", 16)
    author = writer(followers, online)
    pulled, pushed = taken(author, Policy.PULL), taken(author, Policy(mode))
    more = [one - less for one, less in zip(pushed, pulled, strict=True)]
    audience = audience_of(author)
    assert round(audience.measured.followers * audience.measured.online) == online
    foretold = delivery(mode, followers, online, bitmaps=audience.bitmaps)
    writes = foretold.redis_writes + foretold.messages  # the broker of the tests is the same Redis
    assert more == [foretold.rows_written, foretold.redis_reads, writes]
    job = FanoutJob.objects.latest("pk")
    receipts = FanoutChunk.objects.filter(job=job).values_list("delivered", flat=True)
    assert (foretold.copies, foretold.chunks) == (sum(receipts), len(receipts))
    assert audience.mode == mode


def test_an_entry_takes_as_many_bytes_as_it_says():
    ids = [(1 << 60) + (number << 36) + (number % 300 << 4) for number in range(HOME.length)][::-1]
    HOME.swap(7, HOME.begin(7) or "", ids, complete=False)
    size = timelines().memory_usage(HOME.key(7), samples=0) or 0
    # jemalloc rounds up to its size classes, other allocators do not
    assert size / HOME.length == pytest.approx(unit_costs.ENTRY_BYTES, rel=0.1)


def seen(**fields):
    given = {"followers": 10_000, "online": 0.2, "posts_a_day": 3.0, "reads_a_day": 600.0, **fields}
    return Audience(MeasuredCost(**given), Mode.ONLINE)


def test_the_arithmetic_of_pushing():
    now = forecast(seen(), Policy.ONLINE)
    unit, more = unit_costs.AWAY, unit_costs.ONLINE
    assert now.delivery.copies == 2000
    assert now.delivery.redis_seconds == pytest.approx((10_000 * unit.redis + 2000 * more.redis) / 1e6)  # fmt: skip
    assert now.delivery.redis_bytes == round(2000 * unit_costs.ENTRY_BYTES)
    each = now.delivery.redis_seconds + now.delivery.worker_seconds
    assert now.push_seconds_a_day == pytest.approx(3 * each)
    assert now.push_seconds_a_day == pytest.approx(seen().measured.push_seconds), "as auto counts"
    assert (now.page_outboxes, now.pull_seconds_a_day) == (0, 0)


def test_the_arithmetic_of_pulling():
    then = forecast(seen(), Policy.PULL)
    assert then.delivery == what_if.Delivery()
    assert then.page_outboxes == 1
    assert then.pull_seconds_a_day == pytest.approx(seen().measured.pull_seconds), "as auto counts"


def test_the_first_pulled_author_of_a_site_costs_each_page_more(alice, bob):
    pages = [forecast(audience_of(alice), Policy.PULL).page_seconds]
    set_author_policy(alice, Policy.PULL, by="a test")
    pages += [forecast(audience_of(author), Policy.PULL).page_seconds for author in (alice, bob)]
    one, first = unit_costs.PULL_MICROSECONDS / 1e6, unit_costs.FIRST_PULL_MICROSECONDS / 1e6
    assert pages == [pytest.approx(one + first), pytest.approx(one + first), pytest.approx(one)]


def test_auto_is_what_auto_would_choose(settings):
    settings.AUTO_PULL_FOLLOWERS = 5000
    then = forecast(seen(), Policy.AUTO)
    assert then.mode == Mode.PULL
    assert "pull from 5000 followers on" in then.reason
    assert forecast(seen(reads_a_day=1e9), Policy.AUTO).mode == Mode.ONLINE


def test_a_hundred_times_the_followers_take_a_hundred_times_as_much(settings):
    settings.FANOUT_CHUNK_SIZE = 5000  # two chunks of the few: a second process helps
    few = forecast(seen(), Policy.ONLINE)
    many = forecast(with_followers(seen(), 1_000_000), Policy.ONLINE)
    assert many.delivery.redis_seconds == pytest.approx(100 * few.delivery.redis_seconds)
    assert many.delivery.copies == 200_000
    assert many.measured.reads_a_day == 60_000
    delays = [forecast(seen(), Policy.ONLINE, processes=n).delivery.delay_seconds for n in (1, 2)]
    assert delays[0] > delays[1] > few.delivery.redis_seconds


def test_push_to_everybody_writes_a_row_for_each_follower(settings):
    rows = [delivery(mode, 100, 20).rows_written for mode in (Mode.ONLINE, Mode.PUSH)]
    assert rows[1] - rows[0] == 100
    settings.TIMELINE_SECOND_LEVEL = False
    assert delivery(Mode.PUSH, 100, 20).rows_written == rows[0]


def test_the_last_delivery_is_compared(alice, bob):
    assert what_if.last_delivery() is None
    post = delivered(alice)
    FanoutChunk.objects.update(finished_at=post.created_at + timedelta(seconds=2))
    last = what_if.last_delivery(alice)
    assert last is not None
    assert last.post_id == post.pk
    assert last.measured == pytest.approx(2)
    assert last.error == pytest.approx(last.foretold / 2 - 1)
    assert "it took 2.0" in what_if.error_text(last)
    assert what_if.last_delivery(bob) is None


def test_a_lost_redis_costs_a_rebuild_for_each_reader_online(alice):
    readers = [make_user() for _ in range(4)]
    for reader in readers:
        follow_user(reader, alice)
    deliver()
    for reader in readers[:3]:
        home_timeline(reader, Cursor())
    lost = what_if.lose_redis()
    assert (lost.readers, lost.followees) == (3, 1)
    assert lost.rows_read == lost.memcached_reads == 3 * 2
    assert what_if.lose_redis(servers=2).readers == 2
    many = what_if.lose_redis(readers=3_000)
    assert many.web_seconds == pytest.approx(1000 * lost.web_seconds)
    assert many.redis_bytes == 3000 * HOME.length * unit_costs.ENTRY_BYTES
    timelines().flushdb()
    assert what_if.lose_redis().readers == 0
    built = timelines().info("commandstats").get("cmdstat_restore", {"calls": 0})["calls"]
    for reader in readers[:3]:
        home_timeline(reader, Cursor())
    assert what_if.lose_redis().readers == 3, "as many rebuilds as were foretold"
    after = timelines().info("commandstats").get("cmdstat_restore", {"calls": 0})["calls"]
    assert after - built <= 3 * 2


def test_the_command_compares_now_and_then(alice, bob, capsys):
    delivered(alice)
    call_command("whatif", "author", "@alice", "--followers", "1000000", "--policy", "pull")
    printed = capsys.readouterr().out
    assert "pull at reading" in printed
    assert "1,000,000" in printed
    assert "For the last delivery it says" in printed
    call_command("whatif", "author", "alice", "--followers", "1000000", "--json")
    report = json.loads(capsys.readouterr().out)
    assert report["now"]["measured"]["followers"] == 1
    assert report["then"]["measured"]["followers"] == 1_000_000
    assert report["then"]["mode"] == "online"
    assert report["last_delivery"]["measured"] > 0


def test_the_command_knows_the_site_and_a_lost_redis(alice, bob, capsys):
    call_command("whatif", "site", "--policy", "hybrid")
    printed = capsys.readouterr().out
    assert "auto: " in printed
    call_command("whatif", "--lose-redis")
    assert "--readers N" in capsys.readouterr().out
    call_command("whatif", "--lose-redis", "--readers", "400", "--servers", "4", "--json")
    assert json.loads(capsys.readouterr().out)["readers"] == 100


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "What if what"),
        (("author",), "Which author"),
        (("author", "nobody", "--policy", "pull"), "handle"),
        (("author", "alice"), "What should be different"),
        (("planet", "--policy", "pull"), "What if what"),
        (("site", "--policy", "pull", "--followers", "3"), "belongs to an author"),
        (("site", "--policy", "pull", "--readers", "3"), "belong to --lose-redis"),
        (("author", "alice", "--lose-redis"), "stands alone"),
        (("author", "alice", "--followers", "-1"), "from 0 to"),
        (("author", "alice", "--policy", "often"), "invalid choice"),
        (("--lose-redis", "--servers", "0"), "from 1 to"),
        (("--lose-redis", "--processes", "0"), "from 1 to"),
    ],
)
def test_the_command_says_in_one_line_why_not(alice, words, said):
    with pytest.raises(CommandError, match=said):
        call_command("whatif", *words)


def test_the_command_says_that_redis_does_not_answer():
    with dead_redis(), pytest.raises(CommandError):
        call_command("whatif", "--lose-redis")
