"""The console of the caches in the admin: what staff see, may do, and are refused."""

from urllib.parse import quote

import pytest
from django.contrib.admin.models import LogEntry
from django.utils.html import escape

from apps.operations import actions
from apps.operations.actions import Author
from apps.operations.models import BurstPolicy, TopologyVersion
from apps.operations.queries import topology_in_force
from feedcache.connections import timelines
from feedcache.memcached_tiers import tiers
from feedcache.servers import topology_listener, totals
from feedcache.servers.hot_keys import HotKey
from feedcache.slot_map import bucket_of
from feedcache.topology import Pool
from tests.support.faults import dead_redis, frozen, stopped
from tests.support.services import running
from tests.support.staff import browser_of, choose, confirm, make_staff

pytestmark = pytest.mark.django_db
CONSOLE = "/admin/operations/cachenode/"
HISTORY = "/admin/operations/topologyversion/"
MAX_QUERIES = 8
VIEW = ("operations.view_cachenode", "operations.view_topologyversion")


def change(browser, which, *, confirmed=True, seen=None, **fields):
    version = topology_in_force().version if seen is None else seen
    data = {"seen": version, **({"confirmed": "yes"} if confirmed else {}), **fields}
    return browser.post(f"{CONSOLE}change/{which}/", data, follow=True)


def text_of(response):
    return response.content.decode()


def test_the_console_shows_every_node_with_its_health(
    chief, settled, django_assert_max_num_queries
):
    with django_assert_max_num_queries(MAX_QUERIES):
        text = text_of(chief.get(CONSOLE))
    for _place, node in settled.places():
        assert node.url in text
    assert text.count('<span class="good">works</span>') == 3
    assert 'class="bad"' not in text


def test_without_nodes_the_console_says_that_the_tiers_are_absent(chief, settings):
    settings.MEMCACHED_URLS = settings.MEMCACHED_BACKUP_URLS = []
    settings.MEMCACHED_L1_URLS = []
    assert "the tiers L1, Main and Backup are absent" in text_of(chief.get(CONSOLE))


def test_a_node_whose_probe_fails_is_red(chief, settled):
    with stopped(running().memcached[0]):
        text = text_of(chief.get(CONSOLE))
    assert text.count('<strong class="bad">down</strong>') == 1
    assert text.count('<span class="good">works</span>') == 2
    assert text_of(chief.get(CONSOLE)).count("works</span>") == 3


def test_a_node_that_is_frozen_is_red_in_time(chief, settled):
    for node in tiers().nodes():
        node.timeout = 0.2
    with frozen(running().memcached[0]):
        text = text_of(chief.get(CONSOLE))
    assert '<strong class="bad">down</strong>' in text


def test_processes_and_those_that_lag(chief, settled):
    one = topology_listener.Listener(settled, role="worker")
    one.look(timelines())
    text = text_of(chief.get(CONSOLE))
    assert "1 process uses it." in text
    assert topology_listener.own_name() in text
    actions.flush_class("content", by=Author("chief"))
    assert "1 process uses another version." in text_of(chief.get(CONSOLE))
    actions.republish()
    one.look(timelines())
    assert "1 process uses it." in text_of(chief.get(CONSOLE))


def test_hit_rates_of_all_processes(chief, settled):
    totals.add({("post", "hit"): 60, ("post", "negative"): 15, ("post", "miss"): 25})
    totals.add({("following", "hit"): 1, ("following", "stale"): 1})
    totals.add({("tier:l1", "hit"): 1, ("tier:l1", "miss"): 3})
    text = text_of(chief.get(CONSOLE))
    assert '<th scope="row">post</th><td>75.0 %</td><td>100</td>' in text
    assert '<th scope="row">following</th><td>50.0 %</td><td>2</td>' in text
    assert '<th scope="row">tier:l1</th><td>25.0 %</td><td>4</td>' in text


def test_without_redis_the_console_still_opens(chief, settled):
    with dead_redis():
        text = text_of(chief.get(CONSOLE))
    assert 'class="bad"' in text
    assert '<strong class="bad">down</strong>' not in text, "every Memcached works"
    assert "works</span>" in text


def test_unusual_sizes_are_told(chief, settled, spare):
    actions.add_l1_group([spare().address], 16, by=Author("chief"))
    assert "1 L1 groups: 4 to 8 work best" in text_of(chief.get(CONSOLE))


def test_an_l1_group_is_added_after_a_question(chief, settled, spare):
    node = spare()
    fields = {"addresses": node.address, "megabytes": "16"}
    page = text_of(change(chief, "add-l1", confirmed=False, **fields))
    assert 'name="confirmed"' in page
    assert not TopologyVersion.objects.exists()
    page = text_of(change(chief, "add-l1", **fields))
    assert "Version 1: L1 group of" in page
    assert node.address in page
    assert topology_in_force().l1[0][0].url == node.address
    row = TopologyVersion.objects.get()
    assert row.made_by == "chief"
    assert LogEntry.objects.get().object_id == str(row.pk)


def test_the_forms_know_where_they_were_opened_from(chief, settled):
    page = text_of(chief.get(f"{CONSOLE}change/replace/?place=main-0-1&seen=99"))
    assert '<option value="main-0-1" selected>' in page
    assert '<input type="hidden" name="seen" value="0"' in page
    assert f'value="{128 // 8}"' in text_of(chief.get(f"{CONSOLE}change/add-l1/"))


@pytest.mark.slow
def test_replace_drain_flush(chief, settled, spare):
    node = spare(64)
    change(chief, "replace", place="main-0-0", address=node.address)
    assert topology_in_force().main[0].url == node.address
    page = text_of(change(chief, "drain", target="main-0-1"))
    assert "<em>draining</em>" in page
    change(chief, "add-l1", addresses=spare().address, megabytes="16")
    change(chief, "drain", target="group-0")
    assert topology_in_force().l1 == ()
    change(chief, "flush", name="outbox")
    assert topology_in_force().epoch_of("outbox") == 5


def test_a_bad_topology_is_refused_in_words(chief, settled):
    page = text_of(change(chief, "replace", place="main-0-0", address=settled.main[1].url))
    assert "messagelist" in page
    page = text_of(change(chief, "replace", place="main-0-0", address="unix:/nothing.sock"))
    assert "messagelist" in page
    assert not TopologyVersion.objects.exists()


def test_wrong_fields_are_shown_with_their_form(chief, settled):
    for which, fields in {
        "replace": {"place": "main-0-9", "address": "a:1"},
        "drain": {"target": "everything"},
        "flush": {"name": "all"},
        "add-l1": {"addresses": "a:1", "megabytes": "-4"},
    }.items():
        page = text_of(change(chief, which, **fields))
        assert "errorlist" in page, which
    assert chief.get(f"{CONSOLE}change/nonsense/").status_code == 404
    assert not TopologyVersion.objects.exists()


def test_a_page_that_is_out_of_date_changes_nothing(chief, settled):
    actions.flush_class("content", by=Author("other"))
    page = text_of(change(chief, "flush", seen=0, name="outbox"))
    assert "messagelist" in page
    assert topology_in_force().version == 1


def test_who_may_only_look_is_offered_nothing(settled):
    viewer = browser_of(make_staff(*VIEW))
    page = text_of(viewer.get(CONSOLE))
    assert settled.main[0].url in page
    assert "change/replace/" not in page
    assert viewer.get(f"{CONSOLE}change/flush/").status_code == 403
    assert change(viewer, "flush", name="outbox").status_code == 403
    assert not TopologyVersion.objects.exists()


def test_who_may_not_look_sees_nothing(settled, alice):
    for user in (make_staff(), alice):
        assert browser_of(user).get(CONSOLE).status_code in {302, 403}
        assert browser_of(user).get(f"{CONSOLE}change/flush/").status_code in {302, 403}


def test_history_and_the_way_back(chief, settled, spare):
    node = spare(64)
    change(chief, "replace", place="main-0-0", address=node.address)
    change(chief, "flush", name="content")
    first = TopologyVersion.objects.get(pk=1)
    assert escape(first.detail) in text_of(chief.get(HISTORY))
    assert escape(first.after[:20]) in text_of(chief.get(f"{HISTORY}1/change/"))
    assert 'name="confirmed"' in text_of(choose(chief, HISTORY, "roll_back", [first]))
    change(chief, "drain", target="main-0-0")
    text = text_of(confirm(chief, HISTORY, "roll_back", [first]))
    assert "messagelist" in text
    now = topology_in_force()
    assert (now.version, now.main[0].is_read, now.main[0].url) == (4, True, node.address)


def test_one_version_at_a_time(chief, settled):
    for _ in range(2):
        change(chief, "flush", name="content")
    text = text_of(confirm(chief, HISTORY, "roll_back", list(TopologyVersion.objects.all())))
    assert 'class="error"' in text
    assert TopologyVersion.objects.count() == 2


def test_going_back_needs_the_right(settled):
    actions.flush_class("content", by=Author("chief"))
    viewer = browser_of(make_staff(*VIEW))
    confirm(viewer, HISTORY, "roll_back", list(TopologyVersion.objects.all()))
    assert TopologyVersion.objects.count() == 1


def test_history_is_not_written_by_hand(chief, settled):
    actions.flush_class("content", by=Author("chief"))
    assert chief.post(f"{HISTORY}1/change/", {"detail": "x"}).status_code == 403
    assert chief.post(f"{HISTORY}1/delete/", {"post": "yes"}).status_code == 403
    assert chief.get(f"{HISTORY}add/").status_code == 403


def test_the_console_in_chinese(chief, settled):
    chief.cookies["lang"] = "zh-hans"
    text = text_of(chief.get(CONSOLE))
    for words in ("节点", "命中率", "进程", "历史", "替换"):
        assert words in text


def test_main_grows_with_its_progress_and_is_given_up(chief, settled, spare):
    node = spare(64)
    fields = {"pool": "main", "addresses": node.address, "megabytes": "64"}
    page = text_of(change(chief, "grow", confirmed=False, **fields))
    assert "Add slots for" in page
    assert not TopologyVersion.objects.exists()
    page = text_of(change(chief, "grow", **fields))
    assert "Main is changing its slots: step 1 of 3" in page
    assert "In all, 33.3 % of its keys have to move." in page
    assert f"{CONSOLE}change/abort/?pool=main" in page
    assert "A pool is changing its slots." in text_of(change(chief, "shrink", place="backup-0-0"))
    page = text_of(change(chief, "abort", pool="main"))
    assert "is changing its slots" not in page
    assert topology_in_force().main == settled.main
    assert {row.made_by for row in TopologyVersion.objects.all()} == {"chief"}


def test_a_slot_of_main_is_taken_out(chief, settled):
    page = text_of(chief.get(f"{CONSOLE}change/shrink/"))
    assert page.count("<option") == 3, "not of L1"
    assert "move its keys to the other slots?" in text_of(
        change(chief, "shrink", confirmed=False, place="main-0-1")
    )
    change(chief, "shrink", place="main-0-1")
    assert set(topology_in_force().resizes[Pool.MAIN].new) == {0}


HOT = f"{CONSOLE}hot-keys/"
RULES = {"megabytes": 16, "most_reads": 1000, "most_groups": 8, "calm_minutes": 10}


@pytest.fixture
def burst(monkeypatch):
    key = HotKey("post:3.0:77", 5000.0)
    monkeypatch.setattr("feedcache.servers.hot_keys.hottest", lambda _number, seconds: [key])
    monkeypatch.setattr("feedcache.servers.hot_keys.peak", lambda seconds: key.reads)


def test_hot_keys_and_the_group_that_they_need(chief, settled, spare, burst):
    node = spare()
    page = text_of(chief.get(HOT))
    assert "post:3.0:77" in page
    assert settled.main[settled.slot_map(Pool.MAIN)[bucket_of(b"post:3.0:77")]].url in page
    chief.post(f"{HOT}rules/", {**RULES, "spares": node.address})
    page = text_of(chief.get(HOT))
    assert "another L1 group is needed" in page
    assert f"addresses={quote(node.address, safe='')}" in page
    chief.post(f"{HOT}rules/", {**RULES, "spares": node.address, "is_automatic": "on"})
    assert "will be added in a moment" in text_of(chief.get(HOT))
    assert [entry.change_message for entry in LogEntry.objects.all()] == [
        "bursts automatic: from 1000 reads a second, to 8 groups",
        "bursts by hand: from 1000 reads a second, to 8 groups",
    ]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"spares": "nowhere"}, "is not an address"),
        ({"spares": "", "is_automatic": "on"}, "nothing to add"),
        ({"spares": "", "most_groups": 0}, "greater than or equal to 1"),
        ({"spares": "", "calm_minutes": 11}, "less than or equal to 10"),
    ],
)
def test_rules_for_bursts_that_make_no_sense(chief, fields, words):
    page = text_of(chief.post(f"{HOT}rules/", {**RULES, **fields}))
    assert words in page
    assert not BurstPolicy.objects.exists()


def test_a_node_in_use_is_no_spare_node(chief, settled):
    page = text_of(chief.post(f"{HOT}rules/", {**RULES, "spares": settled.main[0].url}))
    assert "is in use already" in page


def test_hot_keys_without_any_and_without_redis(chief):
    page = text_of(chief.get(HOT))
    assert "No key needs more L1 groups." in page
    assert "No key is read often enough" in page
    with dead_redis():
        assert "Redis does not answer" in text_of(chief.get(HOT))


def test_who_may_only_look_changes_no_rules():
    browser = browser_of(make_staff(*VIEW, handle="looker"))
    assert browser.get(HOT).status_code == 200
    assert "Rules for bursts</a>" not in text_of(browser.get(HOT))
    assert browser.post(f"{HOT}rules/", RULES).status_code == 403
    nobody = browser_of(make_staff("operations.view_topologyversion", handle="nobody"))
    assert nobody.get(HOT).status_code == 403
