"""Reading and writing through the layers: the value, and exactly what is in every pool afterwards."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from feedcache.memcached_node import Kind
from feedcache.memcached_tiers import MAX_KEYS_PER_CALL, TOMBSTONE_SECONDS, make
from feedcache.topology import State, Topology
from tests.feedcache.pools import BACKUP, MAIN, all_of
from tests.support.memory import contents, plant, told
from tests.support.threads import together

KEY = "post:1"
TTL = 300


def nodes_of(layer, key=KEY):
    return layer.slot_of(key.encode()).node


def label_of(pools, layer, key=KEY):
    url = nodes_of(layer, key).url
    return next(label for label, server in pools.servers.items() if server.address == url)


def expected(cache, *, main=None, backup=None, chosen=None, others=None):
    """Contents by layer; `chosen` is the first L1 group. None: nothing at all; "gone": a tombstone."""

    def pool(value):
        return {} if value is None else {KEY: None if value == "gone" else value}

    groups = {
        f"l1 {number}": pool(others if number else chosen) for number in range(len(cache.groups))
    }
    return {"main": pool(main), "backup": pool(backup), **groups}


# -- reading ------------------------------------------------------------------------------------


def test_nothing_anywhere_is_a_miss_and_leaves_nothing(cache):
    assert cache.get_many([KEY]) == {}
    assert all_of(cache) == expected(cache)


def test_a_hit_in_l1_asks_nobody_else(three, chosen):
    cache = three.client()
    plant(nodes_of(cache.groups[0]), KEY, b"v")
    before = [three.gets(label) for label in (*MAIN, *BACKUP)]
    assert cache.get_many([KEY]) == {KEY: b"v"}
    assert [three.gets(label) for label in (*MAIN, *BACKUP)] == before
    assert all_of(cache) == expected(cache, chosen=b"v")


def test_a_hit_in_main_fills_the_chosen_group_only(cache, chosen):
    plant(nodes_of(cache.main), KEY, b"v")
    assert cache.get_many([KEY]) == {KEY: b"v"}
    assert all_of(cache) == expected(cache, main=b"v", chosen=b"v")


def test_a_hit_in_backup_fills_main_and_the_chosen_group(cache, chosen):
    plant(nodes_of(cache.backup), KEY, b"v")
    assert cache.get_many([KEY]) == {KEY: b"v"}
    assert all_of(cache) == expected(cache, main=b"v", backup=b"v", chosen=b"v")


def test_main_is_dead_and_backup_answers(pools, cache, chosen):
    plant(nodes_of(cache.backup), KEY, b"v")
    dead = label_of(pools, cache.main)
    pools.kill(dead)
    assert cache.get_many([KEY]) == {KEY: b"v"}
    pools.bring_back(dead)
    assert all_of(cache) == expected(cache, backup=b"v", chosen=b"v")


def test_l1_is_dead_and_main_answers(three, chosen):
    cache = three.client()
    assert cache.ping()
    plant(nodes_of(cache.main), KEY, b"v")
    three.kill("l1-a")
    assert cache.get_many([KEY]) == {KEY: b"v"}
    three.bring_back("l1-a")
    assert all_of(cache) == expected(cache, main=b"v")


def test_everything_is_dead_and_it_is_a_miss(pools, cache):
    cache.set_many({KEY: b"v"}, ttl_seconds=TTL)
    for label in pools.servers:
        pools.kill(label)
    assert cache.get_many([KEY]) == {}
    assert cache.delete_many([KEY]) is False
    assert cache.gets(KEY) is None


def test_a_batch_asks_each_layer_only_for_what_is_still_missing(three, chosen):
    cache = three.client()
    keys = [f"post:{number}" for number in range(12)]
    for number, key in enumerate(keys[:9]):
        plant(
            nodes_of([cache.groups[0], cache.main, cache.backup][number % 3], key),
            key,
            b"%d" % number,
        )
    for node in cache.nodes():
        node.ping()
    before = {label: three.gets(label) for label in three.servers}
    assert cache.get_many(keys) == {key: b"%d" % number for number, key in enumerate(keys[:9])}
    asked = {label: three.gets(label) - before[label] for label in three.servers}
    stamps = {"l1-a": 1, "main-a": 1, "main-b": 1, "backup": 1}
    assert asked["l1-a"] - stamps["l1-a"] == 12
    assert asked["main-a"] + asked["main-b"] - 2 == 9
    assert asked["backup"] - stamps["backup"] == 6
    assert [asked[label] for label in ("l1-b", "l1-c", "l1-d")] == [0, 0, 0]


def test_one_group_serves_a_whole_call(three):
    cache = three.client()
    keys = [f"post:{number}" for number in range(30)]
    cache.set_many(dict.fromkeys(keys, b"v"), ttl_seconds=TTL)
    before = [three.gets("l1-a"), three.gets("l1-b") + three.gets("l1-c"), three.gets("l1-d")]
    assert len(cache.get_many(keys)) == 30
    after = [three.gets("l1-a"), three.gets("l1-b") + three.gets("l1-c"), three.gets("l1-d")]
    assert sum(new - old >= 30 for old, new in zip(before, after, strict=True)) == 1


def test_the_choice_of_a_group_is_uniform(three):
    cache = three.client()
    cache.set_many({KEY: b"v"}, ttl_seconds=TTL)
    counted = {}
    for number, labels in enumerate((["l1-a"], ["l1-b", "l1-c"], ["l1-d"])):
        counted[number] = -sum(three.gets(label) for label in labels)
    for _ in range(1500):
        cache.get_many([KEY])
    for number, labels in enumerate((["l1-a"], ["l1-b", "l1-c"], ["l1-d"])):
        counted[number] += sum(three.gets(label) for label in labels)
    # a key and the stamp each time; 500 +- 6 standard deviations
    assert all(390 < count / 2 < 610 for count in counted.values()), counted


def test_a_copy_lives_no_longer_than_the_original(cache, chosen):
    original = _item(b"v", ttl_seconds=40)
    cache.main.write(b"set", {KEY.encode(): original}, ttl_seconds=40)
    cache.get_many([KEY])
    for node in cache.nodes():
        node.ping()
    found = [item for node in cache.nodes() for item in contents(node).values()]
    assert {item.ends for item in found} == {original.ends}
    assert len(found) == 1 + bool(cache.groups)


def _item(data, ttl_seconds):
    return make(Kind.VALUE, data, ttl_seconds)


def test_values_of_any_bytes_and_sizes_come_back(cache):
    values = {f"k{size}": bytes(range(256)) * size for size in (0, 1, 7, 1000)}
    values |= {"end": b"END\r\n", "value": b"VALUE x 0 1 1\r\nEND\r\n", "lines": b"\r\n" * 500}
    assert cache.set_many(values, ttl_seconds=TTL)
    for _ in range(5):
        assert cache.get_many(list(values)) == values


def test_a_value_too_large_for_memcached_is_not_stored_and_disturbs_nobody(cache):
    cache.set_many({KEY: b"old", "other": b"v"}, ttl_seconds=TTL)
    assert cache.set_many({KEY: b"x" * 1_500_000}, ttl_seconds=TTL) is False
    assert cache.get_many([KEY, "other"]) == {"other": b"v"}
    assert all(node.is_answering for node in cache.nodes())


def test_a_thousand_keys_are_one_call_and_no_more(cache):
    values = {f"key:{number}": b"%d" % number for number in range(MAX_KEYS_PER_CALL)}
    assert cache.set_many(values, ttl_seconds=TTL)
    assert cache.get_many(list(values)) == values
    for call in (
        lambda: cache.get_many([*values, "one more"]),
        lambda: cache.set_many({**values, "more": b""}, ttl_seconds=TTL),
        lambda: cache.delete_many([*values, "more"]),
    ):
        with pytest.raises(ValueError, match="at most"):
            call()


# -- slots --------------------------------------------------------------------------------------


def test_the_hash_is_the_same_in_every_process_and_for_ever(cache):
    slots = [cache.main.slots.index(cache.main.slot_of(b"key:%d" % number)) for number in range(12)]
    assert slots == [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1]


def test_no_key_moves_before_during_and_after_a_failure(pools, cache):
    keys = [f"key:{number}" for number in range(200)]
    values = dict.fromkeys(keys, b"v")

    def places():
        return {
            label: sorted(contents(slot.node))
            for label, slot in zip(MAIN, cache.main.slots, strict=True)
        }

    cache.set_many(values, ttl_seconds=TTL)
    before = places()
    assert all(len(found) > 50 for found in before.values())
    pools.kill("main-a")
    for _call in range(3):  # from the second on, nobody tries the dead node any more
        cache.set_many(values, ttl_seconds=TTL)
        cache.get_many(keys)
        assert sorted(contents(cache.main.slots[1].node)) == before["main-b"]
    pools.bring_back("main-a")
    assert cache.ping()
    cache.set_many(values, ttl_seconds=TTL)
    assert places() == before


# -- writing ------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("main_works", [True, False])
@pytest.mark.parametrize("backup_works", [True, False])
@pytest.mark.parametrize("what", ["set", "delete"])
def test_the_matrix_of_writes(pools, cache, what, main_works, backup_works):
    cache.set_many({KEY: b"old"}, ttl_seconds=TTL)
    dead = [label_of(pools, cache.main)] * (not main_works) + ["backup"] * (not backup_works)
    for label in dead:
        pools.kill(label)
    new: bytes | str
    if what == "set":
        done = cache.set_many({KEY: b"new"}, ttl_seconds=TTL)
        new = b"new"
    else:
        done = cache.delete_many([KEY])
        new = "gone"
    assert done is (main_works or backup_works)
    found = cache.get_many([KEY])
    assert found == ({KEY: b"new"} if done and what == "set" else {})
    for label in dead:
        pools.bring_back(label)
    assert all_of(cache) == expected(
        cache,
        main=new if main_works else None,
        backup=new if backup_works else None,
        chosen=new if done else "gone",
        others=new if done else "gone",
    )


def test_a_write_goes_to_nodes_that_are_not_read(pools):
    """A node on its way out of the topology."""
    old = pools.topology
    main = tuple(replace(node, state=State.DRAINING) for node in old.main)
    cache = pools.client(replace(old, main=main))
    assert cache.set_many({KEY: b"v"}, ttl_seconds=TTL)
    assert cache.get_many([KEY]) == {KEY: b"v"}
    assert all_of(cache) == expected(cache, main=b"v", backup=b"v", chosen=b"v", others=b"v")


def test_a_delete_stops_the_refill_of_what_was_read_before(cache, chosen):
    """The race: read the old value, then it is deleted, then the reader refills the layers above."""
    plant(nodes_of(cache.backup), KEY, b"old")
    read = cache.read([KEY])
    assert cache.delete_many([KEY])
    cache.refill(read)
    assert cache.get_many([KEY]) == {}
    assert all_of(cache) == expected(
        cache, main="gone", backup="gone", chosen="gone", others="gone"
    )


def test_an_update_stops_the_refill_of_what_was_read_before(cache, chosen):
    plant(nodes_of(cache.backup), KEY, b"old")
    read = cache.read([KEY])
    assert cache.set_many({KEY: b"new"}, ttl_seconds=TTL)
    cache.refill(read)
    assert all_of(cache) == expected(
        cache, main=b"new", backup=b"new", chosen=b"new", others=b"new"
    )


def test_a_load_that_began_before_a_change_stores_nothing(cache, chosen):
    for change in (
        lambda: cache.set_many({KEY: b"new"}, ttl_seconds=TTL),
        lambda: cache.delete_many([KEY]),
    ):
        read = cache.read(["post:1"])
        assert not read.items
        assert change()
        after = all_of(cache)
        cache.fill(read, {KEY.encode(): _item(b"old", ttl_seconds=TTL)})
        assert all_of(cache) == after
        cache.update(KEY, lambda _value: b"", ttl_seconds=1)
        _flush(cache)


def _flush(cache):
    for node in cache.nodes():
        told(node.url, b"flush_all\r\n")
        node.ping()


def test_a_load_that_began_after_a_delete_takes_the_place_of_the_tombstone(cache, chosen):
    cache.delete_many([KEY])
    read = cache.read([KEY])
    cache.fill(read, {KEY.encode(): _item(b"new", ttl_seconds=TTL)})
    found = all_of(cache)
    assert found["main"] == {KEY: b"new"}
    assert cache.get_many([KEY]) == {KEY: b"new"}


def test_a_reader_who_was_asleep_refills_nothing(cache, chosen):
    plant(nodes_of(cache.backup), KEY, b"old")
    read = cache.read([KEY])
    read.began -= TOMBSTONE_SECONDS / 2
    cache.refill(read)
    cache.fill(read, {KEY.encode(): _item(b"old", ttl_seconds=TTL)})
    assert all_of(cache) == expected(cache, backup=b"old")


def test_a_load_fills_main_backup_and_the_chosen_group(cache, chosen):
    read = cache.read([KEY])
    cache.fill(read, {KEY.encode(): _item(b"v", ttl_seconds=TTL)})
    assert all_of(cache) == expected(cache, main=b"v", backup=b"v", chosen=b"v")


def test_a_load_fills_every_group_where_the_setting_says_so(pools, chosen, cache_settings):
    cache_settings.refills_all_l1 = True
    cache = pools.client()
    assert cache.ping()
    read = cache.read([KEY])
    cache.fill(read, {KEY.encode(): _item(b"v", ttl_seconds=TTL)})
    assert all_of(cache) == expected(cache, main=b"v", backup=b"v", chosen=b"v", others=b"v")


# -- compare and set ----------------------------------------------------------------------------


def appended(suffix):
    return lambda value: value + suffix


def test_gets_and_cas_work_on_main_and_set_the_others(cache):
    cache.set_many({KEY: b"1"}, ttl_seconds=TTL)
    value, token = cache.gets(KEY)
    assert (value, token.layer.name) == (b"1", "main")
    assert cache.cas(KEY, b"12", token, ttl_seconds=TTL)
    assert all_of(cache) == expected(cache, main=b"12", backup=b"12", chosen=b"12", others=b"12")


def test_a_conflict_leaves_all_layers_as_they_are(cache):
    cache.set_many({KEY: b"1"}, ttl_seconds=TTL)
    _value, token = cache.gets(KEY)
    cache.set_many({KEY: b"2"}, ttl_seconds=TTL)
    assert not cache.cas(KEY, b"mine", token, ttl_seconds=TTL)
    assert all_of(cache) == expected(cache, main=b"2", backup=b"2", chosen=b"2", others=b"2")


def test_gets_never_looks_into_l1(three, chosen):
    cache = three.client()
    plant(nodes_of(cache.groups[0]), KEY, b"stale")
    assert cache.gets(KEY) is None
    plant(nodes_of(cache.main), KEY, b"v")
    assert cache.gets(KEY)[0] == b"v"


def test_while_main_is_dead_the_token_is_that_of_backup(pools, cache):
    cache.set_many({KEY: b"1"}, ttl_seconds=TTL)
    dead = label_of(pools, cache.main)
    pools.kill(dead)
    value, token = cache.gets(KEY)
    assert (value, token.layer.name) == (b"1", "backup")
    assert cache.cas(KEY, b"12", token, ttl_seconds=TTL)
    pools.bring_back(dead)
    assert all_of(cache) == expected(cache, backup=b"12", chosen=b"12", others=b"12")
    assert cache.get_many([KEY]) == {KEY: b"12"}


def test_a_value_that_only_backup_has_is_changed_in_main(cache):
    plant(nodes_of(cache.backup), KEY, b"1")
    value, token = cache.gets(KEY)
    assert (value, token.layer.name) == (b"1", "main")
    assert cache.cas(KEY, b"12", token, ttl_seconds=TTL)
    assert all_of(cache) == expected(cache, main=b"12", backup=b"12", chosen=b"12", others=b"12")


def test_appends_of_many_at_once_all_survive(pools):
    """By clients that know nothing of one another."""
    clients = [pools.client() for _ in range(6)]
    clients[0].set_many({KEY: b""}, ttl_seconds=TTL)

    def append(index):
        done = 0
        while done < 10:
            found = clients[index].gets(KEY)
            value, token = found
            done += clients[index].cas(KEY, value + b"%d," % index, token, ttl_seconds=TTL)

    together(len(clients), append)
    value = clients[0].main.read([KEY.encode()]).items[KEY.encode()].data
    assert sorted(value.decode().split(",")[:-1]) == sorted(
        str(index) for index in range(6) for _ in range(10)
    )
    for found in all_of(clients[0]).values():
        assert found.get(KEY) in (value, None)
    for _ in range(10):
        assert clients[0].get_many([KEY]) == {KEY: value}


def test_a_change_of_what_is_not_there_drops_the_copies_in_l1(three, chosen):
    cache = three.client()
    for group in cache.groups:
        plant(nodes_of(group), KEY, b"stale")
    assert not cache.update(KEY, appended(b"x"), ttl_seconds=TTL)
    for number in range(3):
        chosen.number = number
        assert cache.get_many([KEY]) == {}


def test_a_token_of_another_topology_is_a_conflict(pools, cache):
    cache.set_many({KEY: b"1"}, ttl_seconds=TTL)
    _value, token = cache.gets(KEY)
    assert not pools.client().cas(KEY, b"2", token, ttl_seconds=TTL)


# -- no servers ---------------------------------------------------------------------------------


def test_without_backup_there_is_one_layer(pools):
    cache = pools.client(Topology(main=pools.topology.main))
    assert cache.set_many({KEY: b"v"}, ttl_seconds=TTL)
    assert cache.get_many([KEY]) == {KEY: b"v"}
    assert cache.update(KEY, appended(b"w"), ttl_seconds=TTL)
    assert cache.get_many([KEY]) == {KEY: b"vw"}
    assert cache.delete_many([KEY])
    assert cache.get_many([KEY]) == {}


def test_without_servers_every_read_is_a_miss(pools):
    cache = pools.client(Topology())
    assert not cache.set_many({KEY: b"v"}, ttl_seconds=TTL)
    assert cache.get_many([KEY]) == {}
    assert cache.gets(KEY) is None
    assert not cache.update(KEY, appended(b"x"), ttl_seconds=TTL)
    assert not cache.delete_many([KEY])
    assert not cache.is_configured


def test_many_threads_get_their_own_values(cache):
    values = {f"key:{number}": b"%d" % number * 50 for number in range(100)}
    cache.set_many(values, ttl_seconds=TTL)

    def read(index):
        keys = [f"key:{number}" for number in range(index, 100, 7)]
        return sum(cache.get_many(keys) != {key: values[key] for key in keys} for _ in range(40))

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(read, range(16))) == 0
