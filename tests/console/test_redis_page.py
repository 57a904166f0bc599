"""The page of Redis in the admin: servers, classes of data, slots, and what staff may do there."""

import re

import pytest
from django.contrib.admin.models import LogEntry

from feedcache.connections import timelines
from feedcache.servers import totals
from tests.support import clusters
from tests.support.faults import dead_redis
from tests.support.staff import browser_of, make_staff
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db
CONSOLE = "/admin/operations/cachenode/"
PAGE = f"{CONSOLE}redis/"
MOVE = f"{PAGE}move-slot/"
MAX_QUERIES = 6  # the first page of a session, which reads it
DOWN = '<strong class="bad">down</strong>'


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    with clusters.cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture
def on_cluster(nodes, settings):
    """Timelines, relations and filters on a cluster, the rest on the server of the tests."""
    # a node that another test stopped for a moment is missed by the others for a while
    ready = b"cluster_state:ok"
    wait_until(
        lambda: all(ready in node.ask("CLUSTER", "INFO") for node in nodes),
        "the cluster is whole again",
    )
    settings.REDIS_TIMEOUT_SECONDS = 0.3  # some tests freeze a node
    url = clusters.cluster_url(nodes)
    with clusters.addresses(settings, REDIS_URL=url, REDIS_GRAPH_URL=url, REDIS_EXISTENCE_URL=url):
        yield nodes


def text_of(response):
    return " ".join(response.content.decode().split())


def slot_of(node, key):
    return node.ask("CLUSTER", "KEYSLOT", key)


def owner_of(nodes, slot):
    for first, last, master, *_replicas in nodes[0].ask("CLUSTER", "SLOTS"):
        if first <= slot <= last:
            return next(node for node in nodes if node.port == master[1])
    raise AssertionError(slot)


def fill(nodes, number):
    """Keys of one slot; the slot, its owner, and another node."""
    pipeline = timelines().pipeline(transaction=False)
    for n in range(number):
        pipeline.set(f"page:{{7}}:{n}", n)
    pipeline.execute()
    slot = slot_of(nodes[0], "page:{7}:0")
    source = owner_of(nodes, slot)
    return slot, source, next(node for node in nodes if node is not source)


def test_every_server_and_every_class_of_data(chief, django_assert_max_num_queries):
    with django_assert_max_num_queries(MAX_QUERIES):
        text = text_of(chief.get(PAGE))
    for name in ("timelines", "graph", "counters", "existence", "limits", "cache", "broadcasts"):
        assert f'<th scope="row"> {name} ' in text
    assert text.count('<span class="good">works</span>') == 1 + 7
    assert "Memory" in text
    assert 'class="bad"' not in text
    assert MOVE not in text
    assert PAGE in text_of(chief.get(CONSOLE))


def test_a_server_that_may_evict_what_has_to_be_kept(chief):
    timelines().config_set("maxmemory", "1gb")
    timelines().config_set("maxmemory-policy", "allkeys-lru")
    try:
        text = text_of(chief.get(PAGE))
    finally:
        timelines().config_set("maxmemory-policy", "noeviction")
        timelines().config_set("maxmemory", "0")
    assert text.count("may evict data that has to be kept") == 1
    assert "/ 1.0 GB" in text


def test_without_redis_the_page_says_what_people_notice(chief):
    with dead_redis():
        response = chief.get(PAGE)
    text = text_of(response)
    assert response.status_code == 200
    assert text.count(DOWN) == 1 + 7


def test_calls_of_redis_of_the_last_hour_against_their_targets(chief):
    totals.add(
        {
            ("call:redis graph", "calls"): 1000, ("call:redis graph", "microseconds"): 700_000,
            ("call:redis limits", "calls"): 10, ("call:redis limits", "microseconds"): 81_000,
            ("call:redis limits", "failed"): 1, ("call:postgresql default", "calls"): 5,
        }
    )  # fmt: skip
    text = text_of(chief.get(PAGE))
    assert (
        '<th scope="row">graph</th> <td class="number">1000</td> <td class="number">100.000 %</td>'
        in text
    )
    assert '<td class="number">0.70 ms</td>' in text
    assert '<td class="number bad">90.000 %</td> <td class="number bad">1</td>' in text
    assert '<td class="number bad">8.10 ms</td>' in text
    assert "postgresql" not in text


def test_nodes_of_a_cluster_and_their_slots(chief, on_cluster):
    text = text_of(chief.get(PAGE))
    assert "All 4 servers work." in text
    assert "Slots of timelines, graph, existence" in text
    for node in on_cluster:
        assert text.count(f">{node.address}</th>") == 2, "among the servers, and with its slots"
    assert "-16383</td>" in text
    on_cluster[1].freeze()
    try:
        text = text_of(chief.get(PAGE))
    finally:
        on_cluster[1].thaw()
    assert DOWN in text


def test_a_slot_moves_after_a_question(chief, on_cluster):
    slot, source, target = fill(on_cluster, 120)
    fields = {"name": "timelines", "slot": slot, "target": target.address}
    page = text_of(chief.post(MOVE, fields))
    assert f"Move slot {slot} of “timelines” to {target.address}?" in page
    assert owner_of(on_cluster, slot) is source
    page = text_of(chief.post(MOVE, {**fields, "confirmed": "yes"}, follow=True))
    assert f"Slot {slot}: 120 keys went to {target.address}." in page
    assert owner_of(on_cluster, slot) is target
    assert target.ask("CLUSTER", "COUNTKEYSINSLOT", slot) == 120
    assert LogEntry.objects.get().user.handle == "chief"


def test_a_large_slot_shows_its_progress_and_goes_on(chief, on_cluster, monkeypatch):
    monkeypatch.setattr("apps.console.actions.SLOT_SECONDS", 0)
    slot, source, target = fill(on_cluster, 120)
    fields = {"name": "timelines", "slot": slot, "target": target.address, "confirmed": "yes"}
    progress = f"Slot {slot} moves from {source.address} to {target.address}:"
    left = [120]
    while left[-1]:
        page = text_of(chief.post(MOVE, fields, follow=True))
        found = re.search(rf"{re.escape(progress)} (\d+) keys are left\.", page)
        assert (
            found is None
        ) or f"?name=timelines&amp;slot={slot}&amp;target={target.address}" in page
        left.append(int(found[1]) if found else 0)
    assert left == sorted(set(left), reverse=True)
    assert len(left) > 2
    assert progress not in text_of(chief.post(MOVE, fields, follow=True))
    assert owner_of(on_cluster, slot) is target
    assert timelines().get("page:{7}:119") == b"119"


def test_what_cannot_be_moved_is_refused_in_words(chief, on_cluster):
    slot, _source, target = fill(on_cluster, 1)
    wrong: list[dict[str, object]] = [
        {"slot": 16384},
        {"slot": -1},
        {"slot": "x"},
        {"target": "10.0.0.1:1"},
        {"name": "counters"},
    ]
    for fields in wrong:
        right = {"name": "timelines", "slot": slot, "target": target.address, "confirmed": "yes"}
        response = chief.post(MOVE, right | fields)
        assert "errorlist" in text_of(response), fields
    on_cluster[1].freeze()
    try:
        assert chief.get(MOVE).status_code == 200
    finally:
        on_cluster[1].thaw()


def test_who_may_only_look_is_offered_nothing(on_cluster):
    viewer = browser_of(make_staff("operations.view_cachenode"))
    page = text_of(viewer.get(PAGE))
    assert "Slots of timelines" in page
    assert MOVE not in page
    assert viewer.get(MOVE).status_code == 403
    assert viewer.post(MOVE, {"confirmed": "yes"}).status_code == 403


def test_who_may_not_look_sees_nothing(client, alice):
    assert client.get(PAGE).status_code == 302
    for user in (make_staff(), alice):
        assert browser_of(user).get(PAGE).status_code in {302, 403}
        assert browser_of(user).get(MOVE).status_code in {302, 403}


def test_the_page_in_chinese(chief):
    chief.cookies["lang"] = "zh-hans"
    text = text_of(chief.get(PAGE))
    for words in ("全部 1 台服务器运行正常", "停机期间", "在线读者的首页时间线", "没有可移动的槽"):
        assert words in text
